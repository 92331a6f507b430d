#include "gpu_worker/process/task_inputs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/digest.h"
#include "base/limits.h"
#include "optimizer/ir/text.h"
#include "proto/wire/digest.h"
#include "tests/gpu_worker/process/map_bytes.h"

namespace plait {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

class TaskInputsTest : public testing::Test {
 protected:
  // A value of the set whose bytes the server has.
  void Give(v1::InputSet& set, const std::string& name, const std::string& bytes) {
    const Digest digest = DigestOf(bytes);
    blobs_.bytes[digest.sha256_hex] = bytes;
    v1::InputValue& value = *set.add_values();
    value.set_name(name);
    *value.mutable_blob() = wire::DigestToProto(digest);
  }

  absl::StatusOr<std::vector<std::vector<Tensor>>> Read() { return inputs_.Read(sets_, graph_); }

  std::string MisfitOf() {
    const absl::Status status = Read().status();
    EXPECT_TRUE(absl::IsOutOfRange(status)) << status;
    return std::string(status.message());
  }

  const Graph graph_ = *ParseGraph(R"(graph {
  input %x: uint8[3]
  input %mask: bool[2]
  %y: uint8[3] = Identity(%x)
  output %y
})");
  FakeBlobs blobs_;
  const BlobFetcher fetch_ = [this](const v1::Digest& blob) { return blobs_.Fetch(blob); };
  google::protobuf::RepeatedPtrField<v1::InputSet> sets_;
  TaskInputs inputs_{fetch_};
};

TEST_F(TaskInputsTest, ReadsValuesByNameIntoTheGraphsOrder) {
  Give(*sets_.Add(), "mask", std::string("\0\1", 2));
  Give(sets_[0], "x", "abc");
  Give(*sets_.Add(), "x", "def");
  Give(sets_[1], "mask", std::string("\1\1", 2));
  const auto inputs = Read();
  ASSERT_TRUE(inputs.ok()) << inputs.status();
  ASSERT_THAT(*inputs, SizeIs(2));
  EXPECT_THAT((*inputs)[0], ElementsAre(Tensor({DataType::kUint8, {3}}, "abc"),
                                        Tensor({DataType::kBool, {2}}, std::string("\0\1", 2))));
  EXPECT_EQ((*inputs)[1][0].bytes(), "def");
}

TEST_F(TaskInputsTest, FetchesTheInputsOfAJobOnce) {
  Give(*sets_.Add(), "x", "abc");
  Give(sets_[0], "mask", std::string(2, '\1'));
  for (int task = 0; task < 3; ++task) ASSERT_TRUE(Read().ok());
  EXPECT_THAT(blobs_.fetched, ElementsAre("abc", std::string(2, '\1')));
  *sets_[0].mutable_values(0) = v1::InputValue();
  sets_[0].mutable_values(0)->Swap(sets_[0].mutable_values(1));
  sets_[0].mutable_values()->RemoveLast();
  Give(sets_[0], "x", "def");
  ASSERT_TRUE(Read().ok());
  EXPECT_THAT(blobs_.fetched, ElementsAre("abc", std::string(2, '\1'), "def"));
}

TEST_F(TaskInputsTest, NamesTheSetAndTheInputThatDoesNotFit) {
  Give(*sets_.Add(), "x", "abcd");
  Give(sets_[0], "mask", std::string(2, '\1'));
  EXPECT_EQ(MisfitOf(), "input_sets[0]: input x: is uint8[3] of 3 bytes, its value has 4");
  EXPECT_THAT(blobs_.fetched, SizeIs(0)) << "the sizes say it before anything is fetched";
}

TEST_F(TaskInputsTest, RefusesBooleansThatAreNone) {
  Give(*sets_.Add(), "x", "abc");
  Give(sets_[0], "mask", std::string("\1\2", 2));
  EXPECT_EQ(MisfitOf(), "input_sets[0]: input mask: its value is no bool[2]");
}

TEST_F(TaskInputsTest, RefusesMoreThanAJobMayHave) {
  for (int set = 0; set < kInputSetsMax + 1; ++set) {
    Give(*sets_.Add(), "x", "abc");
    Give(sets_[set], "mask", std::string(2, '\1'));
  }
  EXPECT_TRUE(absl::IsResourceExhausted(Read().status()));
  sets_.RemoveLast();
  EXPECT_TRUE(Read().ok());
  sets_[1].mutable_values(0)->mutable_blob()->set_size_bytes(INT64_MAX);
  EXPECT_TRUE(absl::IsResourceExhausted(Read().status()));
  for (int i = 0; i < kInputValuesMax; ++i) Give(sets_[0], "x", "abc");
  EXPECT_THAT(std::string(Read().status().message()), HasSubstr("more than 256 values"));
}

TEST_F(TaskInputsTest, SaysWhenABlobIsNotThere) {
  Give(*sets_.Add(), "x", "abc");
  Give(sets_[0], "mask", std::string(2, '\1'));
  blobs_.bytes.clear();
  EXPECT_TRUE(absl::IsNotFound(Read().status()));
}

}  // namespace
}  // namespace plait
