#include "optimizer/onnx/external_data.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "optimizer/onnx/import.h"
#include "tests/optimizer/onnx/model_text.h"

namespace plait {
namespace {

using ::testing::HasSubstr;

constexpr char kAdd[] = "g (float[2] x) => (float[2] y) { y = Add(x, w) }";

onnx::TensorProto External(const std::string& location, const std::string& offset = "",
                           const std::string& length = "") {
  onnx::TensorProto tensor = FloatTensor("w", {2});
  tensor.clear_raw_data();
  tensor.set_data_location(onnx::TensorProto::EXTERNAL);
  const auto add = [&tensor](const std::string& key, const std::string& value) {
    if (value.empty()) return;
    auto* entry = tensor.add_external_data();
    entry->set_key(key);
    entry->set_value(value);
  };
  add("location", location);
  add("offset", offset);
  add("length", length);
  return tensor;
}

std::string ModelOfTensor(const onnx::TensorProto& tensor) {
  return GraphBytes(13, kAdd,
                    [&](auto* model) { *model->mutable_graph()->add_initializer() = tensor; });
}

absl::StatusOr<std::string> ReadZeros(const ExternalRange& range) {
  return std::string(static_cast<size_t>(range.size_bytes), '\0');
}

TEST(ExternalDataTest, PutsTheBytesIntoTheModel) {
  ExternalRange asked;
  const auto read = [&asked](const ExternalRange& range) -> absl::StatusOr<std::string> {
    asked = range;
    return FloatTensor("", {2}, 5).raw_data();
  };
  const absl::StatusOr<std::string> packed =
      PackExternalData(ModelOfTensor(External("data/weights.bin", "4096", "8")), read);
  ASSERT_TRUE(packed.ok()) << packed.status();
  EXPECT_EQ(asked.path, "data/weights.bin");
  EXPECT_EQ(asked.offset_bytes, 4096);
  EXPECT_EQ(asked.size_bytes, 8);
  EXPECT_EQ(*packed, ModelOfTensor(FloatTensor("w", {2}, 5)));
  EXPECT_TRUE(ImportOnnx(*packed).ok());
}

TEST(ExternalDataTest, PacksSubgraphsAndAttributesToo) {
  const std::string model = GraphBytes(
      13, R"(g (bool c, float[2] x) => (float[2] y) {
      y = If (c) <
        then_branch = t () => (float[2] r) { r = Constant<value = float[2] {1.0, 2.0}>() },
        else_branch = e () => (float[2] s) { s = Add(x, w) }
      >
    })",
      [](auto* proto) {
        auto* node = proto->mutable_graph()->mutable_node(0);
        auto* then_graph = node->mutable_attribute(0)->mutable_g();
        auto* else_graph = node->mutable_attribute(1)->mutable_g();
        *then_graph->mutable_node(0)->mutable_attribute(0)->mutable_t() = External("a.bin");
        *else_graph->add_initializer() = External("b.bin");
      });
  int reads = 0;
  const auto read = [&reads](const ExternalRange& range) {
    ++reads;
    return ReadZeros(range);
  };
  const absl::StatusOr<std::string> packed = PackExternalData(model, read);
  ASSERT_TRUE(packed.ok()) << packed.status();
  EXPECT_EQ(reads, 2);
  EXPECT_EQ(packed->find("a.bin"), std::string::npos);
}

TEST(ExternalDataTest, PacksFunctionsToo) {
  const std::string model =
      BytesFromText(R"(<ir_version: 8, opset_import: ["" : 13, "local" : 1]>
    g (float[2] x) => (float[2] y) { y = local.AddWeight(x) }
    <domain: "local", opset_import: ["" : 13]>
    AddWeight (a) => (b) {
      c = Constant<value = float[2] {1.0, 2.0}>()
      b = Add(a, c)
    })",
                    [](auto* proto) {
                      auto* constant = proto->mutable_functions(0)->mutable_node(0);
                      *constant->mutable_attribute(0)->mutable_t() = External("a.bin");
                    });
  const absl::StatusOr<std::string> packed = PackExternalData(model, ReadZeros);
  ASSERT_TRUE(packed.ok()) << packed.status();
  EXPECT_TRUE(ImportOnnx(*packed).ok()) << ImportOnnx(*packed).status();
}

// ONNX goes by where a tensor says that its data lies, whatever other entries it kept.
TEST(ExternalDataTest, DataInTheFileIsReadBesideEntriesOfAnother) {
  onnx::TensorProto tensor = External("old.bin");
  tensor.clear_data_location();
  tensor.set_raw_data(FloatTensor("w", {2}).raw_data());
  const std::string model = ModelOfTensor(tensor);
  EXPECT_EQ(PackExternalData(model, ReadZeros).value(), model);
  EXPECT_TRUE(ImportOnnx(model).ok()) << ImportOnnx(model).status();
}

TEST(ExternalDataTest, AModelWithoutExternalDataStaysAsItIs) {
  const std::string model = ModelOfTensor(FloatTensor("w", {2}));
  EXPECT_EQ(PackExternalData(model, ReadZeros).value(), model);
}

TEST(ExternalDataTest, RefusesTooMuchBeforeAnythingIsRead) {
  onnx::TensorProto large = External("w", "0");
  // 1 GiB each.
  large.clear_dims();
  large.add_dims(1 << 28);
  const std::string model =
      GraphBytes(13, "g (float[2] x) => (float[2] y) { y = Abs(x) }", [&](auto* proto) {
        for (int i = 0; i < 3; ++i) {
          *proto->mutable_graph()->add_initializer() = large;
        }
      });
  const auto read = [](const ExternalRange&) -> absl::StatusOr<std::string> {
    ADD_FAILURE() << "must not be read";
    return "";
  };
  const absl::Status status = PackExternalData(model, read).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(status.message()), HasSubstr("the largest protobuf message"));
}

TEST(ExternalDataTest, RefusesPathsThatLeaveTheFolder) {
  const auto read = [](const ExternalRange&) -> absl::StatusOr<std::string> {
    ADD_FAILURE() << "must not be read";
    return "";
  };
  const std::vector<std::string> paths = {"/etc/passwd", "../secret", "a/../../secret",
                                          "a//b",        "",          "C:\\x",
                                          "c:x",         "a\\..\\b",  "..",
                                          "a/..",        "a/",        std::string("a\0b", 3)};
  for (const std::string& path : paths) {
    const absl::StatusOr<std::string> packed =
        PackExternalData(ModelOfTensor(External(path)), read);
    EXPECT_EQ(packed.status().code(), absl::StatusCode::kInvalidArgument) << path;
    EXPECT_THAT(std::string(packed.status().message()), HasSubstr("tensor 'w'"));
  }
}

TEST(ExternalDataTest, RefusesNumbersThatDoNotFit) {
  for (const auto& tensor : {External("w", "-1"), External("w", "x"), External("w", "0", "7"),
                             External("w", "0", "-8"), External("w", "99999999999999999999")}) {
    EXPECT_EQ(PackExternalData(ModelOfTensor(tensor), ReadZeros).status().code(),
              absl::StatusCode::kInvalidArgument);
  }
  const auto short_file = [](const ExternalRange&) -> absl::StatusOr<std::string> {
    return "1234";
  };
  const absl::StatusOr<std::string> packed =
      PackExternalData(ModelOfTensor(External("w")), short_file);
  EXPECT_EQ(packed.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(packed.status().message()), HasSubstr("gives 4 bytes"));
}

}  // namespace
}  // namespace plait
