#include "proto/wire/plan_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/limits.h"
#include "proto/wire/options.h"
#include "tests/proto/wire/details.h"

namespace plait::wire {
namespace {

v1::OptimizeOptions ForThreads(std::vector<int> threads) {
  v1::OptimizeOptions options;
  v1::PlanFor& plan = *options.add_plan_for();
  plan.mutable_threads()->Add(threads.begin(), threads.end());
  return options;
}

v1::OptimizeOptions WithRange(const std::string& input, int64_t low, int64_t high) {
  v1::OptimizeOptions options;
  v1::DimRange& dim = *(*options.mutable_shape_ranges())[input].add_dims();
  dim.set_low(low);
  dim.set_high(high);
  return options;
}

std::string RefusedField(const v1::OptimizeOptions& options) {
  const absl::Status status = CheckedOptions(options).status();
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  return FieldOf(status);
}

TEST(WirePlanOptionsTest, APlanIsForTheJobsDevice) {
  const auto checked = CheckedOptions(ForThreads({1, 2, 4}));
  ASSERT_TRUE(checked.ok()) << checked.status();
  EXPECT_EQ(checked->plan_for(0).device(), "cpu");
  v1::OptimizeOptions options = ForThreads({1});
  options.mutable_plan_for(0)->set_device("cuda:0");
  EXPECT_EQ(RefusedField(options), "options.plan_for");
  options.set_device("cuda:0");
  EXPECT_TRUE(CheckedOptions(options).ok());
}

TEST(WirePlanOptionsTest, NumbersOfThreadsAreCheckedOneByOne) {
  EXPECT_EQ(RefusedField(ForThreads({})), "options.plan_for");
  EXPECT_EQ(RefusedField(ForThreads({0})), "options.plan_for");
  EXPECT_EQ(RefusedField(ForThreads({kThreadsMax + 1})), "options.plan_for");
  EXPECT_EQ(RefusedField(ForThreads({2, 1, 2})), "options.plan_for");
  std::vector<int> many;
  for (int i = 1; i <= kPlansPerModelMax + 1; ++i) many.push_back(i);
  EXPECT_EQ(RefusedField(ForThreads(many)), "options.plan_for");
  v1::OptimizeOptions twice = ForThreads({1});
  twice.set_threads(1);
  EXPECT_EQ(RefusedField(twice), "options.threads");
}

TEST(WirePlanOptionsTest, MoreThreadsThanTheDeviceHasAreRefusedWithAWayOut) {
  v1::OptimizeOptions options;
  options.set_threads(64);
  options = *CheckedOptions(options);
  EXPECT_TRUE(CheckThreads(options, 64).ok());
  const absl::Status status = CheckThreads(options, 2);
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  EXPECT_EQ(FieldOf(status), "options.threads");
  EXPECT_EQ(status.message(),
            "options.threads: cpu has 2 by affinity, cpuset, quota and settings, asked for are 64 "
            "(0: all of them; --plan-for cpu:threads=2,64 --allow-predicted plans for more by "
            "predicted times)");
  options.set_device("reference");
  EXPECT_THAT(std::string(CheckThreads(options, 2).message()),
              testing::HasSubstr("reference has 2, asked for are 64"));
}

TEST(WirePlanOptionsTest, FurtherPlansMayBePredictedForMoreThreads) {
  v1::OptimizeOptions options = *CheckedOptions(ForThreads({2, 64}));
  EXPECT_TRUE(CheckThreads(options, 64).ok());
  EXPECT_EQ(FieldOf(CheckThreads(options, 2)), "options.plan_for");
  options.set_allow_predicted(true);
  EXPECT_TRUE(CheckThreads(options, 2).ok());
  EXPECT_EQ(FieldOf(CheckThreads(options, 1)), "options.plan_for") << "the first is measured";
}

TEST(WirePlanOptionsTest, RangesGoUpwards) {
  EXPECT_TRUE(CheckedOptions(WithRange("x", 1, 8)).ok());
  EXPECT_TRUE(CheckedOptions(WithRange("x", 8, 8)).ok());
  for (const auto& [low, high] : std::vector<std::pair<int64_t, int64_t>>{
           {0, 8}, {8, 4}, {-1, 1}, {1, kTensorElementsMax + 1}}) {
    EXPECT_EQ(RefusedField(WithRange("x", low, high)), "options.shape_ranges[x]");
  }
  EXPECT_EQ(RefusedField(WithRange("", 1, 2)), "options.shape_ranges");
  v1::OptimizeOptions both = WithRange("x", 1, 2);
  (*both.mutable_shapes())["x"].add_dims(1);
  EXPECT_EQ(RefusedField(both), "options.shape_ranges");
}

// Another body has the weights of one graph only.
TEST(WirePlanOptionsTest, SeveralPlansNeedTheOriginalsBody) {
  for (v1::OptimizeOptions options : {ForThreads({1, 2}), WithRange("x", 1, 8)}) {
    for (const char* const body : {"auto", "original"}) {
      options.set_body(body);
      EXPECT_TRUE(CheckedOptions(options).ok());
    }
    options.set_body("searched");
    EXPECT_EQ(RefusedField(options), "options.body");
  }
  v1::OptimizeOptions one = ForThreads({2});
  one.set_body("searched");
  EXPECT_TRUE(CheckedOptions(one).ok());
}

}  // namespace
}  // namespace plait::wire
