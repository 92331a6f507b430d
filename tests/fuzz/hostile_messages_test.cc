#include <cstdlib>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "base/random.h"
#include "optimizer/onnx/messages/read_message.h"
#include "optimizer/onnx/messages/write_message.h"
#include "tests/optimizer/onnx/messages/whole_model.h"

// The bytes of a model come from strangers. Each execution changes those of a right one in a few
// places and reads what is left; libonnx is the judge of what it says. It depends on its number
// alone, so that a failure repeats. PLAIT_FUZZ_EXECUTIONS says how many.
namespace plait {
namespace {

constexpr int64_t kExecutionsDefault = 20'000;
constexpr int kMutationsMax = 4;

int64_t Executions() {
  const char* const text = std::getenv("PLAIT_FUZZ_EXECUTIONS");
  int64_t executions = kExecutionsDefault;
  if (text != nullptr && !absl::SimpleAtoi(text, &executions)) {
    ADD_FAILURE() << "PLAIT_FUZZ_EXECUTIONS is no number: " << text;
  }
  return executions;
}

size_t Place(const std::string& bytes, Random* random) {
  return static_cast<size_t>(random->Integer(0, static_cast<int64_t>(bytes.size()) - 1));
}

// One change: a byte that is another, a bit that is another, bytes that are gone, that come twice,
// or the end that is missing.
void Mutate(std::string* bytes, Random* random) {
  if (bytes->empty()) return;
  const size_t at = Place(*bytes, random);
  const size_t count = static_cast<size_t>(random->Integer(1, 16));
  switch (random->Integer(0, 5)) {
    case 0:
    case 1:
      (*bytes)[at] = static_cast<char>(random->Integer(0, 255));
      break;
    case 2:
      (*bytes)[at] = static_cast<char>((*bytes)[at] ^ (1 << random->Integer(0, 7)));
      break;
    case 3:
      bytes->erase(at, count);
      break;
    case 4:
      bytes->insert(Place(*bytes, random), bytes->substr(at, count));
      break;
    default:
      bytes->resize(at);
  }
}

std::vector<std::string> Seeds() {
  std::vector<std::string> seeds;
  for (const int depth : {1, 2, 3, 4}) {
    ::onnx::ModelProto model;
    FillMessage(&model, depth);
    seeds.push_back(model.SerializeAsString());
  }
  ::onnx::ModelProto newer;
  FillMessage(&newer, 2);
  AddUnknownFields(&newer);
  seeds.push_back(newer.SerializeAsString());
  return seeds;
}

// Fields that libonnx has no name for are compared in other tests; here their order differs.
std::string KnownFields(::onnx::ModelProto model) {
  model.DiscardUnknownFields();
  return model.SerializeAsString();
}

TEST(HostileMessagesTest, AreReadAsLibonnxReadsThemOrRefused) {
  const std::vector<std::string> seeds = Seeds();
  int64_t read = 0;
  int64_t refused = 0;
  const int64_t executions = Executions();
  for (int64_t execution = 0; execution < executions; ++execution) {
    SCOPED_TRACE(execution);
    Random random(static_cast<uint64_t>(execution));
    std::string bytes = seeds[random.Integer(0, static_cast<int64_t>(seeds.size()) - 1)];
    const int64_t mutations = random.Integer(1, kMutationsMax);
    for (int64_t i = 0; i < mutations; ++i) Mutate(&bytes, &random);
    const absl::StatusOr<onnx::ModelProto> model = ReadModel(bytes);
    ::onnx::ModelProto theirs;
    const bool is_model = theirs.ParseFromString(bytes);
    if (!model.ok()) {
      ++refused;
      ASSERT_TRUE(absl::IsInvalidArgument(model.status())) << model.status();
      // Protobuf's own reader takes groups, numbers of fields that are cut to 32 bits, and no
      // bytes.
      const absl::string_view reason = model.status().message();
      const bool is_known = bytes.empty() || absl::StrContains(reason, "wire type") ||
                            absl::StrContains(reason, "number out of range");
      EXPECT_TRUE(!is_model || is_known) << reason;
      continue;
    }
    ++read;
    const absl::StatusOr<std::string> written = WriteMessage(*model, "model");
    ASSERT_TRUE(written.ok()) << written.status();
    // Written again it is the same: reading that finds nothing else.
    if (written->empty()) continue;
    const absl::StatusOr<onnx::ModelProto> again = ReadModel(*written);
    ASSERT_TRUE(again.ok()) << again.status();
    EXPECT_TRUE(*WriteMessage(*again, "model") == *written);
    if (!is_model) continue;
    ::onnx::ModelProto back;
    ASSERT_TRUE(back.ParseFromString(*written));
    EXPECT_TRUE(KnownFields(back) == KnownFields(theirs));
  }
  // Most changes are in contents, and many in lengths.
  EXPECT_GT(read, executions / 20);
  EXPECT_GT(refused, executions / 20);
}

}  // namespace
}  // namespace plait
