#include "server/search_child/plan_targets.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "optimizer/onnx/import.h"
#include "tests/optimizer/onnx/model_text.h"

namespace plait {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

Model TwoInputs() {
  return *ImportOnnx(GraphBytes(
      17, "g (float[batch, seq] x, float[batch, 3] y) => (float[batch, seq] z) { z = Relu(x) }"));
}

DeviceDescription Device(int threads) {
  DeviceDescription device;
  device.threads = threads;
  device.fingerprint = "cpu;_name;_avx2;_threads=2";
  return device;
}

class PlanTargetsTest : public testing::Test {
 protected:
  absl::StatusOr<std::vector<PlanTarget>> Targets(int threads = 2) {
    warnings_.clear();
    return PlanTargetsOf(TwoInputs(), options_, Device(threads), &warnings_);
  }
  void AddRange(const std::string& input, std::vector<std::pair<int64_t, int64_t>> dims) {
    v1::ShapeRange& range = (*options_.mutable_shape_ranges())[input];
    for (const auto& [low, high] : dims) {
      v1::DimRange& dim = *range.add_dims();
      dim.set_low(low);
      dim.set_high(high);
    }
  }
  void AddShape(const std::string& input, const Shape& dims) {
    for (const int64_t dim : dims) (*options_.mutable_shapes())[input].add_dims(dim);
  }
  void AddThreads(std::vector<int> threads) {
    v1::PlanFor& plan = *options_.add_plan_for();
    plan.mutable_threads()->Add(threads.begin(), threads.end());
  }
  void ExpectRefused(const std::string& what) {
    const absl::Status status = Targets().status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr(what));
  }

  v1::OptimizeOptions options_;
  std::vector<std::string> warnings_;
};

TEST_F(PlanTargetsTest, OneWithoutOptions) {
  AddShape("x", {2, 7});
  const auto targets = Targets(4);
  ASSERT_TRUE(targets.ok()) << targets.status();
  ASSERT_EQ(targets->size(), 1u);
  EXPECT_EQ(targets->front().threads, 4);
  EXPECT_THAT(targets->front().shapes, ElementsAre(Pair("x", Shape{2, 7})));
  EXPECT_TRUE(warnings_.empty());
  options_.set_threads(3);
  EXPECT_EQ(Targets(4)->front().threads, 3);
  EXPECT_TRUE(absl::IsInvalidArgument(Targets(2).status()));
}

TEST_F(PlanTargetsTest, ABatchIsOneAndTheReportSaysSo) {
  const auto targets = Targets();
  ASSERT_TRUE(targets.ok()) << targets.status();
  // The other input's length is for Bind to name.
  EXPECT_THAT(targets->front().shapes, ElementsAre(Pair("y", Shape{1, 3})));
  ASSERT_EQ(warnings_.size(), 1u);
  EXPECT_THAT(warnings_[0], HasSubstr("dimension 0 (batch) of y is open, and 1 in the plan"));
  EXPECT_THAT(warnings_[0], HasSubstr("the size that the file is run at"));
  // Another graph has the plan's batch.
  options_.set_body("portable");
  ASSERT_TRUE(Targets().ok());
  ASSERT_EQ(warnings_.size(), 1u);
  EXPECT_THAT(warnings_[0], testing::Not(HasSubstr("the size that the file is run at")));
}

TEST_F(PlanTargetsTest, NumbersOfThreadsComeInTheirOrder) {
  AddShape("x", {2, 7});
  AddThreads({2, 1});
  const auto targets = Targets();
  ASSERT_TRUE(targets.ok()) << targets.status();
  ASSERT_EQ(targets->size(), 2u);
  EXPECT_EQ(targets->at(0).threads, 2);
  EXPECT_EQ(targets->at(1).threads, 1);
  EXPECT_FALSE(targets->at(0).predicted || targets->at(1).predicted);
}

TEST_F(PlanTargetsTest, MoreThreadsThanTheDeviceHasAreRefusedOrPredicted) {
  AddShape("x", {2, 7});
  AddThreads({1, 4});
  ExpectRefused("has 2, asked for are 4");
  options_.set_allow_predicted(true);
  const auto targets = Targets();
  ASSERT_TRUE(targets.ok()) << targets.status();
  EXPECT_FALSE(targets->at(0).predicted);
  EXPECT_TRUE(targets->at(1).predicted);
  options_.clear_plan_for();
  AddThreads({4, 1});
  ExpectRefused("the first number is what the report is of");
}

TEST_F(PlanTargetsTest, ARangeHasABucketForEachPowerOfTwoAndItsEnds) {
  AddRange("x", {{3, 17}, {5, 5}});
  const auto targets = Targets();
  ASSERT_TRUE(targets.ok()) << targets.status();
  std::vector<int64_t> batches;
  for (const PlanTarget& target : *targets) {
    EXPECT_EQ(target.shapes.at("x")[1], 5);
    batches.push_back(target.shapes.at("x")[0]);
  }
  EXPECT_THAT(batches, ElementsAre(3, 4, 8, 16, 17));
  EXPECT_TRUE(warnings_.empty()) << "the other input's batch is the first one's";
}

TEST_F(PlanTargetsTest, RangesOfOneSymbolRiseTogether) {
  AddRange("x", {{1, 2}, {16, 32}});
  AddRange("y", {{1, 2}, {3, 3}});
  AddThreads({2, 1});
  const auto targets = Targets();
  ASSERT_TRUE(targets.ok()) << targets.status();
  ASSERT_EQ(targets->size(), 8u);
  EXPECT_THAT(targets->at(0).shapes, ElementsAre(Pair("x", Shape{1, 16}), Pair("y", Shape{1, 3})));
  EXPECT_EQ(targets->at(1).threads, 1);
  for (const PlanTarget& target : *targets) {
    EXPECT_EQ(target.shapes.at("x")[0], target.shapes.at("y")[0]);
  }
}

TEST_F(PlanTargetsTest, RefusesWhatContradictsItself) {
  AddRange("x", {{1, 2}, {16, 32}});
  AddRange("y", {{1, 4}, {3, 3}});
  ExpectRefused("dimension 0 ('batch') of 'y' is given as 1..4, but as 1..2");
  options_.clear_shape_ranges();
  AddRange("nobody", {{1, 2}});
  ExpectRefused("'nobody' is no input");
}

TEST_F(PlanTargetsTest, RefusesMorePlansThanTheLimit) {
  AddRange("x", {{1, 1024}, {1, 1024}});
  ExpectRefused("more than 64 plans");
  options_.clear_shape_ranges();
  AddRange("x", {{1, 16}, {1, 128}});
  AddThreads({1, 2});
  ExpectRefused("at most 64 plans are allowed, asked for are 2 numbers of threads for 40 shapes");
}

// A worker measures a plan of fewer threads under its own name.
TEST(DeviceWithThreadsTest, ANameIsOfAsManyThreadsAsTheDeviceHas) {
  EXPECT_EQ(DeviceWithThreads(Device(2), 1).fingerprint, Device(2).fingerprint);
  EXPECT_EQ(DeviceWithThreads(Device(2), 1).threads, 1);
  EXPECT_EQ(DeviceWithThreads(Device(2), 4).fingerprint, "cpu;_name;_avx2;_threads=4");
}

}  // namespace
}  // namespace plait
