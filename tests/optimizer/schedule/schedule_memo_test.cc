#include "optimizer/schedule/schedule_memo.h"

#include <vector>

#include <gtest/gtest.h>

#include "tests/optimizer/schedule/problems.h"

namespace plait {
namespace {

int asked = 0;

std::vector<WidthChoice> AllPart(const ScheduleProblem& block) {
  ++asked;
  return std::vector<WidthChoice>(block.launches.size(), WidthChoice::kPart);
}

TEST(ScheduleMemoTest, AsksOnceAboutEqualBlocks) {
  asked = 0;
  ScheduleMemo memo;
  EXPECT_EQ(memo.WidthsOf(ForkJoin(), AllPart).size(), 6u);
  EXPECT_EQ(memo.WidthsOf(ForkJoin(), AllPart).size(), 6u);
  EXPECT_EQ(asked, 1);
}

// Each in one number.
TEST(ScheduleMemoTest, ABlockIsItsLaunchesAndItsDevice) {
  std::vector<ScheduleProblem> others(11, ForkJoin());
  others[0].launches[1].whole.latency_us = 8;
  others[1].launches[1].whole.alone = false;
  others[2].launches[1].whole.compute_share = 0.5;
  others[3].launches[1].part.bandwidth_share = 0.5;
  others[4].launches[3].predecessors = {0, 1};
  others[5].launches.pop_back();
  others[6].device.threads = 3;
  others[7].device.streams_max = 3;
  others[8].device.bandwidth_bytes_per_us = 1;
  others[9].device.overheads.launch_gap_us = 1;
  others[10].device.overheads.cross_stream_us = 1;
  asked = 0;
  ScheduleMemo memo;
  memo.WidthsOf(ForkJoin(), AllPart);
  for (const ScheduleProblem& other : others) memo.WidthsOf(other, AllPart);
  EXPECT_EQ(asked, 12);
}

TEST(ScheduleMemoTest, StagesAreThoseOfTheLimits) {
  ScheduleMemo memo;
  ScheduleProblem problem = ForkJoin();
  EXPECT_EQ(memo.StagesOf(problem, {}), FastestStages(problem, {}));
  EXPECT_TRUE(memo.StagesOf(problem, {}).has_value());
  EXPECT_FALSE(memo.StagesOf(problem, {.transitions_max = 1}).has_value());
  EXPECT_EQ(memo.StagesOf(problem, {.group_launches_max = 1}),
            FastestStages(problem, {.group_launches_max = 1}));
  EXPECT_EQ(memo.StagesOf(problem, {.groups_max = 1}), FastestStages(problem, {.groups_max = 1}));
}

int scheduled = 0;

Schedule AssignInOrder(const ScheduleProblem& problem, ScheduleMemo& /*memo*/) {
  ++scheduled;
  Schedule schedule;
  for (size_t launch = 0; launch < problem.launches.size(); ++launch) {
    schedule.push_back({static_cast<int>(launch), 0, true});
  }
  return schedule;
}

TEST(ScheduleMemoTest, SchedulesAProblemOnceByAPolicy) {
  const SchedulePolicy in_order = {.name = "in order", .assign_with = AssignInOrder};
  scheduled = 0;
  ScheduleMemo memo;
  EXPECT_EQ(memo.ScheduleOf(kGreedyPolicy, ForkJoin()), kGreedyPolicy.assign(ForkJoin()));
  EXPECT_EQ(memo.ScheduleOf(in_order, ForkJoin()).size(), 6u);
  EXPECT_EQ(memo.ScheduleOf(in_order, ForkJoin()).size(), 6u);
  EXPECT_EQ(scheduled, 1);
}

// Half of the problems come twice.
TEST(ScheduleMemoTest, SchedulesAreTheSameWhateverIsKnown) {
  for (const SchedulePolicy* policy : AllPolicies()) {
    ScheduleMemo memo;
    for (int turn = 0; turn < 40; ++turn) {
      for (const ScheduleProblem& problem :
           {RandomCpuProblem(turn % 20), RandomGpuProblem(turn % 20)}) {
        const Schedule schedule = policy->assign(problem);
        EXPECT_EQ(policy->assign_with(problem, memo), schedule) << policy->name << " " << turn;
        EXPECT_EQ(memo.ScheduleOf(*policy, problem), schedule) << policy->name << " " << turn;
      }
    }
  }
}

}  // namespace
}  // namespace plait
