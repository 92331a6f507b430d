#include "optimizer/schedule/fluid_schedule.h"

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "optimizer/schedule/fluid_search.h"
#include "optimizer/schedule/makespan_bound.h"
#include "tests/optimizer/schedule/problems.h"

namespace plait {
namespace {

// Launch by launch, in order of issue, with its stream; then the makespan.
std::string FluidText(const ScheduleProblem& problem, const FluidOptions& options) {
  const FluidSchedule fluid = ScheduleFluid(problem, options);
  std::string text;
  for (const Placement& placement : fluid.schedule) {
    absl::StrAppend(&text, placement.launch, ".", placement.stream, " ");
  }
  EXPECT_NEAR(MakespanUs(problem, fluid.schedule), fluid.makespan_us, 1e-9);
  return absl::StrCat(text, "in ", fluid.makespan_us, " us");
}

int StreamsOf(const Schedule& schedule) {
  std::set<int> streams;
  for (const Placement& placement : schedule) streams.insert(placement.stream);
  return static_cast<int>(streams.size());
}

// The worked example of fluid_schedule.cc.
ScheduleProblem Example() {
  ScheduleProblem problem;
  problem.launches = {GpuLaunchOf(4, 0.6, {}), GpuLaunchOf(4, 0.6, {}), GpuLaunchOf(2, 0.3, {})};
  problem.device = {.threads = 132, .streams_max = 3};
  return problem;
}

TEST(FluidScheduleTest, WorksOnTheExample) {
  EXPECT_EQ(FluidText(Example(), {{9, 5, 4}, 1}), "0.0 2.1 1.0 in 8 us");
  EXPECT_EQ(FluidText(Example(), {{9, 5, 4}, 1.5}), "0.0 1.1 2.2 in 5.4 us");
}

// Launches 0 and 1 as in the example, of which the first takes nearly all of the device, or in
// another implementation 5 us and a third: beside that the second runs at once.
TEST(FluidScheduleTest, ALaunchMayLeaveRoomForOthers) {
  ScheduleProblem problem = Example();
  problem.launches.pop_back();
  problem.launches[0].whole.compute_share = 0.9;
  problem.launches[0].part = {5, false, 0.3, 0};
  EXPECT_EQ(FluidText(problem, {{9, 5}, 1, {true, true}}), "0.0 1.0 in 8 us");
  EXPECT_EQ(FluidText(problem, {{9, 5}, 1, {false, true}}), "0.0 1.1 in 5 us");
  const FluidSchedule fluid = SearchFluid(problem);
  EXPECT_EQ(fluid.makespan_us, 5);
  EXPECT_EQ(MakespanUs(problem, FindPolicy("plait").value()->assign(problem)), 5);
}

// What is alone on its path loses by leaving room that nobody takes.
TEST(FluidScheduleTest, WhereNobodyTakesTheRoomLaunchesRunWhole) {
  ScheduleProblem problem;
  for (int launch = 0; launch < 12; ++launch) {
    problem.launches.push_back(
        GpuLaunchOf(4, 0.9, launch == 0 ? std::vector<int>() : std::vector<int>{launch - 1}));
    problem.launches.back().part = {5, false, 0.3, 0};
  }
  problem.device = {.threads = 132, .streams_max = 3};
  EXPECT_EQ(SearchFluid(problem).makespan_us, 48);
}

TEST(FluidScheduleTest, WhatWantsMoreThanThereIsRunsAlone) {
  ScheduleProblem problem = Example();
  for (Launch& launch : problem.launches) launch.part.bandwidth_share = 1.5;
  EXPECT_EQ(FluidText(problem, {{1, 2, 3}, 1}), "2.0 1.0 0.0 in 15 us");
}

TEST(FluidScheduleTest, AHandOverIsSavedWhereAPredecessorHasJustEnded) {
  ScheduleProblem problem;
  problem.launches = {GpuLaunchOf(4, 0.1, {}), GpuLaunchOf(5, 0.1, {}), GpuLaunchOf(4, 0.1, {1}),
                      GpuLaunchOf(4, 0.1, {0, 2})};
  problem.device = {
      .threads = 132, .streams_max = 4, .overheads = {.launch_gap_us = 1, .cross_stream_us = 2}};
  EXPECT_EQ(FluidText(problem, {{1, 1, 1, 1}, 1}), "0.0 1.1 2.1 3.1 in 16 us");
}

TEST(FluidScheduleTest, TimeGoesOnWhereRoundingLeavesARest) {
  ScheduleProblem problem;
  for (int launch = 0; launch < 40; ++launch) {
    problem.launches.push_back(GpuLaunchOf(launch % 2 == 0 ? 1e12 / 3 : 1e-9 / 7, 0.7, {}));
  }
  problem.device = {.threads = 132, .streams_max = 3};
  const FluidSchedule fluid = ScheduleFluid(problem, {std::vector<double>(40, 1), 100});
  EXPECT_EQ(fluid.schedule.size(), 40u);
}

TEST(FluidScheduleTest, EverythingRunsOnceBehindWhatItNeeds) {
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    const ScheduleProblem problem = RandomGpuProblem(seed);
    const FluidSchedule fluid = SearchFluid(problem);
    std::vector<bool> is_placed(problem.launches.size(), false);
    for (const Placement& placement : fluid.schedule) {
      EXPECT_FALSE(is_placed[placement.launch]);
      is_placed[placement.launch] = true;
      EXPECT_LT(placement.stream, problem.device.streams_max);
      for (const int predecessor : problem.launches[placement.launch].predecessors) {
        EXPECT_TRUE(is_placed[predecessor]);
      }
    }
    EXPECT_EQ(fluid.schedule.size(), problem.launches.size());
    EXPECT_EQ(SearchFluid(problem).schedule, fluid.schedule);
  }
}

TEST(FluidSearchTest, IsNoWorseThanItsBeginningAndOftenBetterThanAListSchedule) {
  int better = 0;
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    const ScheduleProblem problem = RandomGpuProblem(seed);
    const FluidSchedule fluid = SearchFluid(problem);
    EXPECT_NEAR(fluid.makespan_us, MakespanUs(problem, fluid.schedule), 1e-9);
    const MakespanBound bound = BoundMakespan(problem);
    FluidOptions options;
    for (size_t launch = 0; launch < problem.launches.size(); ++launch) {
      options.priority_us.push_back(bound.tail_us[launch] +
                                    problem.launches[launch].part.latency_us);
    }
    const Schedule first = ScheduleFluid(problem, options).schedule;
    EXPECT_LE(fluid.makespan_us, MakespanUs(problem, first) + 1e-9);
    const double list_us = MakespanUs(problem, kGreedyPolicy.assign(problem));
    if (fluid.makespan_us < list_us * 0.999) ++better;
    EXPECT_LE(MakespanUs(problem, kPlaitPolicy.assign(problem)), fluid.makespan_us + 1e-9);
  }
  EXPECT_GE(better, 30);
}

// Two short branches behind each other end as early as one long one beside them.
TEST(FluidSearchTest, TakesNoMoreStreamsThanItGainsBy) {
  ScheduleProblem problem;
  problem.launches = {GpuLaunchOf(1, 0.1, {}), GpuLaunchOf(6, 0.1, {0}), GpuLaunchOf(2, 0.1, {0}),
                      GpuLaunchOf(2, 0.1, {0}), GpuLaunchOf(1, 0.1, {1, 2, 3})};
  problem.device = {.threads = 132, .streams_max = 16};
  const FluidSchedule fluid = SearchFluid(problem);
  EXPECT_EQ(fluid.makespan_us, 8);
  EXPECT_EQ(StreamsOf(fluid.schedule), 2);
  EXPECT_EQ(StreamsOf(kGreedyPolicy.assign(problem)), 3);
  EXPECT_EQ(StreamsOf(kPlaitPolicy.assign(problem)), 2);
  problem.launches[3] = GpuLaunchOf(5, 0.1, {0});
  EXPECT_EQ(SearchFluid(problem).makespan_us, 8);
  EXPECT_EQ(StreamsOf(SearchFluid(problem).schedule), 3);
}

TEST(FluidSearchTest, NothingAndTooMuchHaveNoSchedule) {
  EXPECT_TRUE(SearchFluid({}).schedule.empty());
  ScheduleProblem problem;
  problem.launches = std::vector<Launch>(5000, GpuLaunchOf(1, 1, {}));
  EXPECT_TRUE(SearchFluid(problem).schedule.empty());
}

}  // namespace
}  // namespace plait
