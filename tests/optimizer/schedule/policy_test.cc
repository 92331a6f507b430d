#include "optimizer/schedule/policy.h"

#include <vector>

#include <gtest/gtest.h>

#include "optimizer/schedule/schedule_memo.h"
#include "optimizer/schedule/stage_schedule.h"
#include "tests/optimizer/schedule/problems.h"

namespace plait {
namespace {

// A cover of one step without kernels' formats, of that width, time and share.
CoverStep StepOf(int width, double latency_us, double share) {
  CoverStep step;
  step.group.whole = {.kernel = {.family = "conv", .width = width},
                      .latency_us = latency_us,
                      .bytes = 300,
                      .compute_share = share};
  step.group.part = step.group.whole;
  return step;
}

std::string ScheduleText(absl::string_view policy, const ScheduleProblem& problem) {
  std::string text;
  const Schedule schedule = (*FindPolicy(policy))->assign(problem);
  for (const Placement& placement : schedule) {
    text += std::to_string(placement.launch) + (placement.whole ? " whole\n" : " stream ");
    if (!placement.whole) text += std::to_string(placement.stream) + "\n";
  }
  return text + std::to_string(static_cast<int>(MakespanUs(problem, schedule))) + " us\n";
}

TEST(PolicyTest, AProcessorHasAsManyStreamsAsThreads) {
  const ScheduleDevice device = ScheduleDeviceOf({.threads = 3});
  EXPECT_EQ(device.threads, 3);
  EXPECT_EQ(device.streams_max, 3);
  EXPECT_EQ(device.bandwidth_bytes_per_us, 0);
  EXPECT_EQ(device.overheads.launch_gap_us, 0);
  EXPECT_EQ(device.overheads.cross_stream_us, 0);
}

TEST(PolicyTest, ADescriptionSaysHowKernelsRunBesideEachOther) {
  const ScheduleDevice device = ScheduleDeviceOf({.threads = 2,
                                                  .streams_max = 16,
                                                  .launch_gap_us = 1,
                                                  .cross_stream_us = 2,
                                                  .bandwidth_bytes_per_us = 3});
  EXPECT_EQ(device.streams_max, 16);
  EXPECT_EQ(device.overheads.launch_gap_us, 1);
  EXPECT_EQ(device.overheads.cross_stream_us, 2);
  EXPECT_EQ(device.bandwidth_bytes_per_us, 3);
}

TEST(PolicyTest, AKernelThatTakesAllIsABarrierOnlyIfItSaysSo) {
  Cover cover;
  cover.steps = {StepOf(1, 10, 1), StepOf(132, 10, 0.5)};
  const ScheduleProblem problem =
      MakeScheduleProblem(cover, {.threads = 132, .bandwidth_bytes_per_us = 60});
  EXPECT_FALSE(problem.launches[0].whole.alone);
  EXPECT_EQ(problem.launches[0].whole.compute_share, 1);
  EXPECT_EQ(problem.launches[0].whole.bandwidth_share, 0.5);
  EXPECT_TRUE(problem.launches[1].whole.alone);
  EXPECT_EQ(problem.launches[1].whole.compute_share, 0.5);
}

TEST(PolicyTest, MoreStreamsThanThreadsAreUsed) {
  // Four launches that each want a quarter of the device.
  Cover cover;
  for (int step = 0; step < 4; ++step) cover.steps.push_back(StepOf(1, 10, 0.25));
  const ScheduleProblem problem = MakeScheduleProblem(cover, {.threads = 2, .streams_max = 4});
  for (const SchedulePolicy* policy : AllPolicies()) {
    if (policy == &kSequentialPolicy) continue;
    EXPECT_NEAR(MakespanUs(problem, policy->assign(problem)), 10, 1e-9)
        << std::string(policy->name);
  }
}

TEST(PolicyTest, SequentialRunsEverythingInOrder) {
  EXPECT_EQ(ScheduleText("sequential", ForkJoin()),
            "0 whole\n1 whole\n2 whole\n3 whole\n4 whole\n5 whole\n48 us\n");
}

TEST(PolicyTest, SequentialTakesTheFasterWidth) {
  ScheduleProblem problem;
  problem.launches = {LaunchOf(9, 2, {})};
  problem.device = {.threads = 2, .streams_max = 2};
  EXPECT_EQ(ScheduleText("sequential", problem), "0 stream 0\n2 us\n");
}

TEST(PolicyTest, GreedyRunsBranchesSideBySideBetweenBarriers) {
  EXPECT_EQ(ScheduleText("greedy", ForkJoin()),
            "0 whole\n1 stream 0\n2 stream 1\n3 stream 0\n4 stream 1\n5 whole\n32 us\n");
}

TEST(PolicyTest, NimbleGivesEachPathOfTheCoverAStream) {
  EXPECT_EQ(ScheduleText("nimble", ForkJoin()),
            "0 whole\n1 stream 0\n2 stream 1\n3 stream 0\n4 stream 1\n5 whole\n32 us\n");
}

TEST(PolicyTest, IosRunsTheGroupsOfAStageSideBySide) {
  EXPECT_EQ(ScheduleText("ios", ForkJoin()),
            "0 whole\n1 stream 0\n3 stream 0\n2 stream 1\n4 stream 1\n5 whole\n32 us\n");
}

TEST(PolicyTest, IosRunsALaunchThatScalesInAStageOfItsOwn) {
  // Launch 3 takes 20 us beside another one and 10 whole; 1 and 2 do not scale at all.
  ScheduleProblem problem;
  problem.launches = {LaunchOf(1, 2, {}), LaunchOf(9, 9, {0}), LaunchOf(9, 9, {0}),
                      LaunchOf(10, 20, {0}), LaunchOf(1, 2, {1, 2, 3})};
  problem.device = {.threads = 2, .streams_max = 2};
  EXPECT_NEAR(MakespanUs(problem, kIosPolicy.assign(problem)), 1 + 9 + 10 + 1, 1e-9);
}

TEST(PolicyTest, IosSolvesLongBlocksInParts) {
  // 64 branches have 2^64 sets of launches; 8 have few enough.
  ScheduleProblem problem;
  problem.launches = {LaunchOf(1, 2, {})};
  std::vector<int> branches;
  for (int branch = 1; branch <= 64; ++branch) {
    problem.launches.push_back(LaunchOf(9, 10, {0}));
    branches.push_back(branch);
  }
  problem.launches.push_back(LaunchOf(1, 2, branches));
  problem.device = {.threads = 2, .streams_max = 2};
  EXPECT_NEAR(MakespanUs(problem, kIosPolicy.assign(problem)), 1 + 64 * 10 / 2 + 1, 1e-9);
}

// Five launches twice, for two streams: equal ones side by side take 105 us, which halves of the
// block cannot have.
TEST(PolicyTest, IosLooksFurtherThanPlaitDoesForEveryGraph) {
  ScheduleProblem problem;
  for (const double us : {10, 20, 30, 40, 5, 10, 20, 30, 40, 5}) {
    problem.launches.push_back(LaunchOf(1000, us, {}));
  }
  problem.device = {.threads = 2, .streams_max = 2};
  EXPECT_NEAR(MakespanUs(problem, kIosPolicy.assign(problem)), 105, 1e-9);
  ScheduleMemo memo;
  const Schedule halves = ScheduleInStages(problem, 48, {.transitions_max = 4000}, memo);
  EXPECT_GT(MakespanUs(problem, halves), 110);
}

TEST(PolicyTest, OparaInheritsStreams) {
  EXPECT_EQ(ScheduleText("opara", ForkJoin()),
            "0 whole\n1 stream 0\n2 stream 1\n3 stream 0\n4 stream 1\n5 whole\n32 us\n");
}

// Of three branches, of 60, 10 and 50 us, one has to give up its stream.
TEST(PolicyTest, OparaSharesTheStreamsThatLoseLeast) {
  ScheduleProblem problem;
  problem.launches = {LaunchOf(1, 2, {}), LaunchOf(60, 60, {0}), LaunchOf(10, 10, {0}),
                      LaunchOf(50, 50, {0}), LaunchOf(1, 2, {1, 2, 3})};
  problem.device = {.threads = 2, .streams_max = 2};
  EXPECT_NEAR(MakespanUs(problem, kOparaPolicy.assign(problem)), 1 + 60 + 1, 1e-9);
}

TEST(PolicyTest, OparaIssuesWhatWantsMemoryBetweenWhatWantsCores) {
  ScheduleProblem problem;
  problem.launches = std::vector<Launch>(4, LaunchOf(9, 10, {}));
  for (const int launch : {2, 3}) problem.launches[launch].part.bandwidth_share = 0.9;
  problem.launches[3].part.compute_share = 0.1;
  problem.device = {.threads = 2, .streams_max = 2};
  std::vector<int> order;
  for (const Placement& placement : kOparaPolicy.assign(problem)) order.push_back(placement.launch);
  EXPECT_EQ(order, (std::vector<int>{3, 0, 2, 1}));
}

TEST(PolicyTest, PlaitIsAsGoodAsTheBestOfTheOthers) {
  EXPECT_EQ(ScheduleText("plait", ForkJoin()), ScheduleText("greedy", ForkJoin()));
}

TEST(PolicyTest, PlaitRunsBranchesInLineWhereThatIsFaster) {
  ScheduleProblem problem = ForkJoin();
  for (Launch& launch : problem.launches) launch.whole.latency_us = 3;
  EXPECT_EQ(ScheduleText("plait", problem), ScheduleText("sequential", problem));
}

TEST(PolicyTest, PlaitMixesWidthsInsideARegion) {
  // Beside a long branch that does not scale runs a chain; the launch behind it scales well.
  ScheduleProblem problem;
  problem.launches = {LaunchOf(1, 2, {}),   LaunchOf(20, 20, {0}), LaunchOf(9, 10, {0}),
                      LaunchOf(9, 10, {2}), LaunchOf(10, 20, {0}), LaunchOf(1, 2, {1, 3, 4})};
  problem.device = {.threads = 2, .streams_max = 2};
  const double mixed_us = MakespanUs(problem, kPlaitPolicy.assign(problem));
  EXPECT_NEAR(mixed_us, 1 + 20 + 10 + 1, 1e-9);
  EXPECT_LE(mixed_us, MakespanUs(problem, kGreedyPolicy.assign(problem)));
  EXPECT_LT(mixed_us, MakespanUs(problem, kNimblePolicy.assign(problem)));
}

TEST(PolicyTest, UnknownNamesAreRefusedWithTheOnesThereAre) {
  const auto policy = FindPolicy("fastest");
  EXPECT_EQ(policy.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_NE(std::string(policy.status().message()).find("nimble"), std::string::npos);
}

TEST(MakeScheduleProblemTest, TakesTheComputeShareThatWasMeasured) {
  Cover cover;
  CoverStep& step = cover.steps.emplace_back();
  step.group.whole = {.kernel = {.width = 8}, .latency_us = 2, .compute_share = 0.9};
  step.group.part = {.kernel = {.width = 1}, .latency_us = 4, .compute_share = 0.3};
  const ScheduleProblem problem = MakeScheduleProblem(cover, {.threads = 8, .streams_max = 8});
  EXPECT_TRUE(problem.launches[0].whole.alone);
  EXPECT_FALSE(problem.launches[0].part.alone);
  EXPECT_EQ(problem.launches[0].whole.compute_share, 0.9);
  EXPECT_EQ(problem.launches[0].part.compute_share, 0.3);
}

}  // namespace
}  // namespace plait
