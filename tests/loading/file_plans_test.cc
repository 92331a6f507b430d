#include "loading/file_plans.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "tests/loading/planned_model.h"

namespace plait {
namespace {

DeviceDescription Described(absl::string_view instructions, int threads,
                            absl::string_view name = "Some_CPU") {
  DeviceDescription device;
  device.backend = "cpu";
  device.instruction_set = std::string(instructions);
  device.threads = threads;
  device.fingerprint =
      absl::StrCat("cpu;_", name, ";_", instructions, ";_threads=", threads, ";_loops=avx2");
  return device;
}

FilePlan PlanFor(const DeviceDescription& device) {
  FilePlan plan;
  plan.header.device_fingerprint = device.fingerprint;
  plan.header.threads = device.threads;
  return plan;
}

TEST(GradeTest, IsOfInstructionsAndThreads) {
  const FilePlan plan = PlanFor(Described("avx512", 2));
  EXPECT_EQ(GradeOn(plan.header, Described("avx512", 2)), PlanGrade::kExact);
  EXPECT_EQ(GradeOn(plan.header, Described("avx512", 2, "Other_CPU")),
            PlanGrade::kSameInstructionSet);
  EXPECT_EQ(GradeOn(plan.header, Described("avx512", 1)), PlanGrade::kNone);
  EXPECT_EQ(GradeOn(plan.header, Described("avx512", 4)), PlanGrade::kNone);
  EXPECT_EQ(GradeOn(plan.header, Described("avx2", 2)), PlanGrade::kNone);
  // One for fewer instructions neither.
  EXPECT_EQ(GradeOn(plan.header, Described("amx", 2)), PlanGrade::kNone);
  DeviceDescription other = Described("avx512", 2);
  other.backend = "cuda";
  other.fingerprint = "cuda;_x";
  EXPECT_EQ(GradeOn(plan.header, other), PlanGrade::kNone);
}

// A worker of four threads has measured a plan of two.
TEST(GradeTest, TakesAWorkersFingerprintForThePlansThreads) {
  FilePlan plan = PlanFor(Described("avx2", 4));
  plan.header.threads = 2;
  EXPECT_EQ(GradeOn(plan.header, Described("avx2", 2)), PlanGrade::kExact);
}

TEST(ThreadsOfPlansTest, TakesTheMostOfThosePlansThatSuitBest) {
  const DeviceDescription device = Described("avx2", 4);
  std::vector<FilePlan> plans = {PlanFor(Described("avx2", 1)), PlanFor(Described("avx2", 2)),
                                 PlanFor(Described("avx2", 8))};
  EXPECT_EQ(ThreadsOfPlans(plans, device), 2);
  // A better grade counts before more threads.
  plans.push_back(PlanFor(Described("avx2", 3, "Other_CPU")));
  EXPECT_EQ(ThreadsOfPlans(plans, device), 2);
  EXPECT_EQ(ThreadsOfPlans({PlanFor(Described("amx", 3))}, device), 3);
  EXPECT_EQ(ThreadsOfPlans({PlanFor(Described("avx2", 8))}, device), 4);
  EXPECT_EQ(ThreadsOfPlans({}, device), 4);
}

TEST(ReadFilePlansTest, KeepsAPlanThatCannotBeReadWithTheReason) {
  const DeviceDescription device = Described("generic", 1);
  EmbeddedPlan newer = PlanOfRows(2, device);
  newer.plan = absl::StrReplaceAll(newer.plan, {{"plan 4 {", "plan 99 {"}});
  const EmbeddedPlan damaged = {"hostile {", "graph", "plait-0"};
  const Model model = ModelWith({newer, damaged, PlanOfRows(3, device)});
  const std::vector<FilePlan> plans = ReadFilePlans(model);
  ASSERT_EQ(plans.size(), 3u);
  EXPECT_EQ(plans[0].reason, PlanReason::kOtherEngine);
  EXPECT_THAT(std::string(plans[0].status.message()), testing::HasSubstr("version 99"));
  EXPECT_EQ(plans[1].reason, PlanReason::kInvalid);
  EXPECT_TRUE(plans[2].status.ok()) << plans[2].status;
  // Shapes are those of the first one that can be read.
  EXPECT_EQ(ShapesOfPlans(model, plans, {}).at("x"), (Shape{3, 8}));
  EXPECT_EQ(ShapesOfPlans(model, plans, {{"x", {5, 8}}}).at("x"), (Shape{5, 8}));
}

}  // namespace
}  // namespace plait
