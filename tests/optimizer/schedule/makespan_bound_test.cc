#include "optimizer/schedule/makespan_bound.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/optimizer/schedule/problems.h"

namespace plait {
namespace {

TEST(MakespanBoundTest, CountsTheWorkBetweenLaunchesBesideWhichNothingRuns) {
  ScheduleProblem problem;
  problem.launches = {GpuLaunchOf(2, 0.25, {}), GpuLaunchOf(4, 1, {0}), GpuLaunchOf(4, 1, {0}),
                      GpuLaunchOf(4, 1, {0}), GpuLaunchOf(1, 0.25, {1, 2, 3})};
  problem.device = {.threads = 132, .streams_max = 4};
  const MakespanBound bound = BoundMakespan(problem);
  EXPECT_EQ(bound.makespan_us, 2 + 3 * 4 + 1);
  EXPECT_EQ(bound.tail_us, (std::vector<double>{13, 1, 1, 1, 0}));
}

TEST(MakespanBoundTest, CountsTheScarcerOfCoresAndBandwidth) {
  ScheduleProblem problem;
  problem.launches = {GpuLaunchOf(4, 0.1, {}), GpuLaunchOf(4, 0.1, {})};
  problem.device = {.threads = 132, .streams_max = 4};
  EXPECT_EQ(BoundMakespan(problem).makespan_us, 4);
  for (Launch& launch : problem.launches) {
    launch.whole.bandwidth_share = launch.part.bandwidth_share = 0.75;
  }
  EXPECT_EQ(BoundMakespan(problem).makespan_us, 2 * 4 * 0.75);
}

TEST(MakespanBoundTest, CountsGapsOnPaths) {
  ScheduleProblem problem;
  problem.launches = {GpuLaunchOf(4, 0.1, {}), GpuLaunchOf(4, 0.1, {0})};
  problem.device = {.threads = 132, .streams_max = 4, .overheads = {.launch_gap_us = 1}};
  EXPECT_EQ(BoundMakespan(problem).makespan_us, 1 + 4 + 1 + 4);
  EXPECT_EQ(BoundMakespan(problem).tail_us, (std::vector<double>{5, 0}));
  EXPECT_EQ(MakespanUs(problem, kSequentialPolicy.assign(problem)), 10);
}

TEST(MakespanBoundTest, NothingTakesNoTime) { EXPECT_EQ(BoundMakespan({}).makespan_us, 0); }

TEST(MakespanBoundTest, NoPolicyIsUnderIt) {
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    for (const ScheduleProblem& problem : {RandomGpuProblem(seed), RandomCpuProblem(seed)}) {
      const double bound_us = BoundMakespan(problem).makespan_us;
      EXPECT_GT(bound_us, 0);
      for (const SchedulePolicy* policy : AllPolicies()) {
        EXPECT_GE(MakespanUs(problem, policy->assign(problem)), bound_us * (1 - 1e-9))
            << std::string(policy->name) << ", seed " << seed;
      }
    }
  }
}

}  // namespace
}  // namespace plait
