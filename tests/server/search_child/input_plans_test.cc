#include "server/search_child/input_plans.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "base/limits.h"
#include "proto/wire/error.h"
#include "tests/loading/planned_model.h"

namespace plait {
namespace {

using testing::HasSubstr;

DeviceDescription DeviceOf(int number) {
  return {.id = "cpu",
          .backend = "cpu",
          .fingerprint = absl::StrCat("cpu;_", number, ";_gcc;_avx2;_threads=2"),
          .instruction_set = "avx2",
          .threads = 2};
}

std::vector<EmbeddedPlan> PlansOfDevices(int count) {
  std::vector<EmbeddedPlan> plans;
  for (int i = 0; i < count; ++i) plans.push_back(PlanOfRows(2, DeviceOf(i)));
  return plans;
}

absl::StatusOr<KeptPlans> PlansFor(const std::vector<EmbeddedPlan>& plans, int device,
                                   const std::vector<PlanTarget>& targets,
                                   const v1::OptimizeOptions& options = {}) {
  return InputPlans(ModelWith(plans), std::string(1000, 'm'), options, DeviceOf(device), targets);
}

const PlanTarget kTwoRows = {2, {{"x", {2, 8}}}};
const PlanTarget kFourRows = {2, {{"x", {4, 8}}}};

TEST(InputPlansTest, KeepsThoseThatTheJobDoesNotReplace) {
  const auto kept = PlansFor(PlansOfDevices(3), 1, {kTwoRows});
  ASSERT_TRUE(kept.ok()) << kept.status();
  ASSERT_EQ(kept->plans.size(), 2u);
  EXPECT_EQ(kept->plans[0].device_fingerprint, DeviceOf(0).fingerprint);
  EXPECT_EQ(kept->plans[1].device_fingerprint, DeviceOf(2).fingerprint);
  EXPECT_EQ(PlansFor(PlansOfDevices(3), 1, {kFourRows})->plans.size(), 3u);
}

TEST(InputPlansTest, KeepsNoneWhereTheyAreToBeDropped) {
  v1::OptimizeOptions options;
  options.set_drop_plans(true);
  EXPECT_TRUE(PlansFor(PlansOfDevices(3), 1, {kTwoRows}, options)->plans.empty());
}

TEST(InputPlansTest, RefusesMorePlansThanAFileMayHold) {
  const std::vector<EmbeddedPlan> plans = PlansOfDevices(kPlansPerModelMax);
  // In the place of one of them.
  EXPECT_EQ(PlansFor(plans, 5, {kTwoRows})->plans.size(), plans.size() - 1);
  const absl::Status refused = PlansFor(plans, 5, {kTwoRows, kFourRows}).status();
  EXPECT_EQ(wire::ReasonOf(refused), v1::ERROR_REASON_INVALID_REQUEST);
  EXPECT_THAT(std::string(refused.message()),
              HasSubstr("a file may hold 64 plans: the job makes 2, and the model came with 63"));
  EXPECT_THAT(std::string(refused.message()), HasSubstr("--drop-plans"));
}

}  // namespace
}  // namespace plait
