#include "client/gate/runtime_pairs.h"

#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "proto/wire/error.h"

namespace plait {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr char kGreeting[] =
    R"({"device":{"id":"onnxruntime","backend":"onnxruntime","name":"ONNX Runtime 9",)"
    R"("fingerprint":"f"},"options":"threads=2","bytes":[]})";

// An interpreter that says whatever it is told to, whatever it is asked.
class RuntimePairsTest : public testing::Test {
 protected:
  absl::StatusOr<std::unique_ptr<RuntimePairs>> Start(const std::vector<std::string>& answers) {
    const std::string path = testing::TempDir() + "/python";
    {
      std::ofstream script(path);
      script << "#!/bin/sh\n";
      for (const std::string& answer : answers) script << "echo '" << answer << "'\n";
      script << "exec cat > /dev/null\n";
    }
    chmod(path.c_str(), 0700);
    return StartWith(path);
  }

  static absl::StatusOr<std::unique_ptr<RuntimePairs>> StartWith(const std::string& interpreter) {
    const Tensor value = Tensor::Of<float>({2}, {1, 2});
    const GatedFile base = {"base.onnx", "bytes", {{"input", value}}};
    const GatedFile changed = {"new.onnx", "more bytes", {{"input", value}}};
    return RuntimePairs::Start({"onnxruntime", interpreter, "/nowhere", 2, 1 << 30}, base, changed);
  }
};

TEST_F(RuntimePairsTest, TakesWhatTheProcessMeasures) {
  const auto pairs = Start({kGreeting, "{}", R"({"base_us":[1,2],"new_us":[3.5,4]})"});
  ASSERT_TRUE(pairs.ok()) << pairs.status();
  EXPECT_EQ((*pairs)->device().id, "onnxruntime");
  EXPECT_EQ((*pairs)->device().name, "ONNX Runtime 9");
  EXPECT_EQ((*pairs)->settings(), "threads=2");
  const absl::StatusOr<PairedLoad> load = (*pairs)->MeasureLoad(false);
  ASSERT_TRUE(load.ok()) << load.status();
  EXPECT_THAT(load->base_us, ElementsAre(1, 2));
  EXPECT_THAT(load->new_us, ElementsAre(3.5, 4));
}

TEST_F(RuntimePairsTest, WhatTheRuntimeHasAgainstAModelNamesIt) {
  const auto pairs = Start({kGreeting, "{}", R"({"error":"no such operator","model":1})"});
  ASSERT_TRUE(pairs.ok()) << pairs.status();
  const absl::Status status = (*pairs)->MeasureLoad(false).status();
  EXPECT_EQ(wire::ReasonOf(status), v1::ERROR_REASON_MODEL_REJECTED);
  EXPECT_EQ(status.message(), "new.onnx: onnxruntime: no such operator");
}

TEST_F(RuntimePairsTest, SaysWhatIsMissing) {
  const absl::Status status = Start({R"({"missing":"pip install onnxruntime"})"}).status();
  EXPECT_EQ(wire::ReasonOf(status), v1::ERROR_REASON_DEVICE_UNAVAILABLE);
  EXPECT_THAT(std::string(status.message()), HasSubstr("pip install onnxruntime"));
}

TEST_F(RuntimePairsTest, AnInterpreterThatDoesNotRunIsNoCrash) {
  for (const char* interpreter : {"none", "/bin/false", "/nonexistent/python"}) {
    const absl::Status status = StartWith(interpreter).status();
    EXPECT_EQ(wire::ReasonOf(status), v1::ERROR_REASON_DEVICE_UNAVAILABLE) << interpreter;
    EXPECT_THAT(std::string(status.message()), HasSubstr("PLAIT_RUNTIMES_PYTHON")) << interpreter;
  }
}

TEST_F(RuntimePairsTest, NonsenseIsNoMeasurement) {
  for (const char* answer : {"no JSON", "[1]", "{}", R"({"base_us":[1],"new_us":[1,2]})",
                             R"({"base_us":[],"new_us":[]})", R"({"base_us":["1"],"new_us":[1]})",
                             R"({"base_us":[0],"new_us":[1]})", R"({"base_us":[-1],"new_us":[1]})",
                             R"({"base_us":7,"new_us":[1]})", R"({"error":"","model":0})",
                             R"({"base_us":[1e999],"new_us":[1]})"}) {
    const auto pairs = Start({kGreeting, "{}", answer});
    ASSERT_TRUE(pairs.ok()) << pairs.status();
    const absl::Status status = (*pairs)->MeasureLoad(true).status();
    EXPECT_EQ(wire::ReasonOf(status), v1::ERROR_REASON_DEVICE_UNAVAILABLE) << answer;
  }
  EXPECT_FALSE(Start({"{\"device\":7}"}).ok());
  EXPECT_FALSE(Start({std::string(2 << 20, 'x')}).ok());
}

}  // namespace
}  // namespace plait
