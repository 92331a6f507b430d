#include "optimizer/schedule/policy.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "base/random.h"
#include "optimizer/plan/make_plan.h"
#include "optimizer/plan/memory_plan.h"
#include "optimizer/schedule/matching.h"
#include "optimizer/schedule/reachability.h"
#include "tests/fakes/fake_device.h"

namespace plait {
namespace {

Launch MakeLaunch(double whole_us, double part_us, std::vector<int> predecessors) {
  Launch launch;
  launch.whole = {whole_us, true, 1, 0};
  launch.part = {part_us, false, 0.5, 0};
  launch.predecessors = std::move(predecessors);
  return launch;
}

// A fork with two branches of two launches each, which two threads hardly speed up, and a join.
ScheduleProblem ForkJoin() {
  ScheduleProblem problem;
  problem.launches = {MakeLaunch(6, 11, {}),  MakeLaunch(9, 10, {0}), MakeLaunch(9, 10, {0}),
                      MakeLaunch(9, 10, {1}), MakeLaunch(9, 10, {2}), MakeLaunch(6, 11, {3, 4})};
  problem.device = {.threads = 2, .streams_max = 2};
  return problem;
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

TEST(PolicyTest, SequentialRunsEverythingInOrder) {
  EXPECT_EQ(ScheduleText("sequential", ForkJoin()),
            "0 whole\n1 whole\n2 whole\n3 whole\n4 whole\n5 whole\n48 us\n");
}

TEST(PolicyTest, SequentialTakesTheFasterWidth) {
  ScheduleProblem problem;
  problem.launches = {MakeLaunch(9, 2, {})};
  problem.device = {.threads = 2, .streams_max = 2};
  EXPECT_EQ(ScheduleText("sequential", problem), "0 stream 0\n2 us\n");
}

TEST(PolicyTest, GreedyRunsBranchesSideBySideBetweenBarriers) {
  EXPECT_EQ(ScheduleText("greedy", ForkJoin()),
            "0 whole\n1 stream 0\n2 stream 1\n3 stream 0\n4 stream 1\n5 whole\n32 us\n");
}

TEST(PolicyTest, NimbleGivesEachPathOfTheCoverAStream) {
  EXPECT_EQ(ScheduleText("nimble", ForkJoin()),
            "0 stream 0\n1 stream 0\n2 stream 1\n3 stream 0\n4 stream 1\n5 stream 0\n42 us\n");
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
  problem.launches = {MakeLaunch(1, 2, {}),   MakeLaunch(20, 20, {0}), MakeLaunch(9, 10, {0}),
                      MakeLaunch(9, 10, {2}), MakeLaunch(10, 20, {0}), MakeLaunch(1, 2, {1, 3, 4})};
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

TEST(ReachabilityTest, ReducesAndFindsBottlenecks) {
  const Reachability diamond({{}, {0}, {0}, {0, 1, 2}, {3, 0}});
  EXPECT_EQ(diamond.ReducedPredecessors(3), (std::vector<int>{1, 2}));
  EXPECT_EQ(diamond.ReducedPredecessors(4), (std::vector<int>{3}));
  EXPECT_EQ(diamond.Bottlenecks(), (std::vector<int>{0, 3, 4}));
}

TEST(MatchingTest, AugmentsAlongAlternatingPaths) {
  EXPECT_EQ(MaximumMatching({{0}, {0, 1}, {1, 2}}, 3), (std::vector<int>{0, 1, 2}));
  EXPECT_EQ(MaximumMatching({{0, 1}, {0}, {0}}, 2), (std::vector<int>{1, 0, -1}));
}

// A random graph of unary and binary operators over one type, with a few views and outputs.
Graph RandomGraph(Random& random, int nodes) {
  std::string text = "graph {\n  input %t0: float32[2,8]\n";
  for (int node = 1; node <= nodes; ++node) {
    const auto any = [&] {
      return "%t" + std::to_string(random.Integer(std::max(0, node - 6), node - 1));
    };
    text += "  %t" + std::to_string(node) + " = ";
    switch (random.Integer(0, 3)) {
      case 0:
        text += "Relu(" + any() + ") {}\n";
        break;
      case 1:
        text += "Flatten(" + any() + ") {axis=1}\n";
        break;
      default:
        text += "Add(" + any() + ", " + any() + ") {}\n";
    }
  }
  text += "  output %t" + std::to_string(nodes) + ", %t" + std::to_string(nodes / 2) + "\n}\n";
  return GraphOf(text);
}

TEST(MakePlanTest, EveryPolicysPlanPassesTheCheckOnRandomGraphs) {
  for (uint64_t seed = 0; seed < 60; ++seed) {
    Random random(seed);
    const Graph graph = RandomGraph(random, static_cast<int>(random.Integer(3, 40)));
    const int threads = static_cast<int>(random.Integer(1, 4));
    const DeviceDescription device = FakeDevice(threads);
    const FakeCatalog catalog(threads);
    MeasurementLog log;
    FakeProfiler profiler;
    ProfileCache db(profiler, log);
    const KernelTableOptions options{device, catalog, db, true};
    std::vector<ProfileQuery> missing;
    BuildKernelTable(graph, options, &missing);
    ASSERT_TRUE(db.Resolve(missing).ok());
    const KernelTable table = BuildKernelTable(graph, options, nullptr);
    for (const CoverWidth width : {CoverWidth::kFastest, CoverWidth::kPart}) {
      const absl::StatusOr<Cover> cover = FindCover(graph, table, {.width = width});
      ASSERT_TRUE(cover.ok()) << cover.status();
      const ScheduleProblem problem =
          MakeScheduleProblem(*cover, {.threads = threads, .streams_max = threads});
      for (const SchedulePolicy* policy : AllPolicies()) {
        const Plan plan =
            MakePlan(graph, *cover, policy->assign(problem), {device.fingerprint, "test", threads});
        const absl::Status status = CheckPlan(plan, graph);
        ASSERT_TRUE(status.ok()) << status << "\nseed " << seed << ", " << policy->name;
        EXPECT_LE(MakespanUs(problem, kPlaitPolicy.assign(problem)),
                  MakespanUs(problem, policy->assign(problem)) + 1e-9)
            << "seed " << seed << ", " << policy->name;
      }
    }
  }
}

TEST(MemoryPlanTest, AChainNeedsTwoBuffers) {
  PartialOrder order;
  std::vector<MemoryRequest> requests;
  for (int step = 0; step < 6; ++step) {
    order.AddStep(0, false, {});
    requests.push_back({100, step, step < 5 ? std::vector<int>{step + 1} : std::vector<int>{}});
  }
  EXPECT_EQ(PlanMemory(requests, order).arena_bytes, 2 * 128);
}

TEST(MemoryPlanTest, StepsThatMayOverlapInTimeShareNothing) {
  PartialOrder order;
  order.AddStep(0, false, {});
  order.AddStep(1, false, {});
  const MemoryPlan plan = PlanMemory({{64, 0, {}}, {64, 1, {}}}, order);
  EXPECT_EQ(plan.arena_bytes, 128);
  EXPECT_NE(plan.offsets_bytes[0], plan.offsets_bytes[1]);
}

TEST(PartialOrderTest, ALaterStepNeverPrecedesAnEarlierOne) {
  // Beyond 64 steps a step's set of predecessors is one word shorter than a later step's index
  // wants.
  PartialOrder order;
  for (int step = 0; step < 200; ++step) order.AddStep(step % 2, false, {});
  for (int earlier = 0; earlier < 200; ++earlier) {
    for (int later = earlier; later < 200; ++later) {
      EXPECT_FALSE(order.Precedes(later, earlier)) << later << " before " << earlier;
    }
  }
}

TEST(PartialOrderTest, OmitsWaitsThatAreImplied) {
  PartialOrder order;
  order.AddStep(0, false, {});
  EXPECT_EQ(order.AddStepThatNeeds(1, false, {0}), (std::vector<int>{0}));
  EXPECT_EQ(order.AddStepThatNeeds(1, false, {0}), (std::vector<int>{}));
  EXPECT_EQ(order.AddStepThatNeeds(2, false, {0, 2}), (std::vector<int>{2}));
  EXPECT_EQ(order.AddStepThatNeeds(0, true, {1, 3}), (std::vector<int>{}));
  EXPECT_TRUE(order.Precedes(3, 4));
  EXPECT_FALSE(order.Precedes(4, 4));
}

}  // namespace
}  // namespace plait
