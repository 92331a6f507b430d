#include "optimizer/schedule/stages.h"

#include <limits>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/optimizer/schedule/problems.h"

namespace plait {
namespace {

using ::testing::ElementsAre;

double SumUs(const ScheduleProblem& problem, const std::vector<Stage>& stages) {
  double us = 0;
  for (const Stage& stage : stages) us += StageUs(problem, stage);
  return us;
}

TEST(StagesTest, ABranchIsAGroup) {
  ScheduleProblem problem;
  problem.launches = {LaunchOf(9, 10, {}), LaunchOf(9, 10, {}), LaunchOf(9, 10, {0}),
                      LaunchOf(9, 10, {1})};
  problem.device = {.threads = 2, .streams_max = 2};
  const auto stages = FastestStages(problem, {.groups_max = 2});
  ASSERT_TRUE(stages.has_value());
  EXPECT_THAT(*stages, ElementsAre(ElementsAre(ElementsAre(0, 2), ElementsAre(1, 3))));
  EXPECT_NEAR(SumUs(problem, *stages), 20, 1e-9);
}

TEST(StagesTest, GroupsAreAsLongAsTheyMayBe) {
  ScheduleProblem problem;
  for (int launch = 0; launch < 8; ++launch) {
    std::vector<int> before;
    if (launch >= 2) before.push_back(launch - 2);
    problem.launches.push_back(LaunchOf(9, 10, before));
  }
  problem.device = {.threads = 2, .streams_max = 2};
  const auto stages = FastestStages(problem, {.groups_max = 2});
  ASSERT_TRUE(stages.has_value());
  size_t launches = 0;
  for (const Stage& stage : *stages) {
    for (const std::vector<int>& group : stage) {
      EXPECT_LE(group.size(), 3);
      launches += group.size();
    }
  }
  EXPECT_EQ(launches, 8);
  EXPECT_NEAR(SumUs(problem, *stages), 40, 1e-9);
}

TEST(StagesTest, TooManyEndingsHaveNoAnswer) {
  ScheduleProblem problem;
  problem.launches = std::vector<Launch>(40, LaunchOf(9, 10, {}));
  problem.device = {.threads = 8, .streams_max = 8};
  EXPECT_FALSE(FastestStages(problem, {}).has_value());
}

TEST(StagesTest, NothingHasNoStages) {
  EXPECT_THAT(FastestStages({}, {}), ::testing::Optional(ElementsAre()));
}

// The least sum over every way to give each launch one of the stages 0, 1, 2 ... without breaking a
// dependency, by trying them all.
double LeastUs(const ScheduleProblem& problem, const StageLimits& limits,
               std::vector<int>& places) {
  const size_t count = problem.launches.size();
  if (places.size() < count) {
    double best_us = std::numeric_limits<double>::infinity();
    int first = 0;
    for (const int each : problem.launches[places.size()].predecessors) {
      first = std::max(first, places[each]);
    }
    for (int place = first; place < static_cast<int>(count); ++place) {
      places.push_back(place);
      best_us = std::min(best_us, LeastUs(problem, limits, places));
      places.pop_back();
    }
    return best_us;
  }
  double us = 0;
  for (size_t place = 0; place < count; ++place) {
    // Groups by joining what depends on each other in one stage.
    std::vector<int> group(count, -1);
    for (size_t launch = 0; launch < count; ++launch) {
      if (places[launch] != static_cast<int>(place)) continue;
      group[launch] = static_cast<int>(launch);
      for (const int before : problem.launches[launch].predecessors) {
        if (places[before] != static_cast<int>(place)) continue;
        const int joined = group[before];
        for (int& each : group) {
          if (each == joined) each = static_cast<int>(launch);
        }
      }
    }
    Stage stage;
    for (size_t name = 0; name < count; ++name) {
      std::vector<int> members;
      for (size_t launch = 0; launch < count; ++launch) {
        if (group[launch] == static_cast<int>(name)) members.push_back(static_cast<int>(launch));
      }
      if (static_cast<int>(members.size()) > limits.group_launches_max) return 1e9;
      if (!members.empty()) stage.push_back(members);
    }
    if (static_cast<int>(stage.size()) > limits.groups_max) return 1e9;
    if (!stage.empty()) us += StageUs(problem, stage);
  }
  return us;
}

TEST(StagesTest, NoOtherStagesAreFaster) {
  std::mt19937 random(7);
  for (int round = 0; round < 60; ++round) {
    ScheduleProblem problem;
    for (int launch = 0; launch < 5; ++launch) {
      std::vector<int> before;
      for (int each = 0; each < launch; ++each) {
        if (random() % 4 == 0) before.push_back(each);
      }
      problem.launches.push_back(LaunchOf(1 + static_cast<int>(random() % 9),
                                          2 + static_cast<int>(random() % 12), before));
    }
    problem.device = {.threads = 2, .streams_max = 2};
    problem.device.overheads.launch_gap_us = 0.5;
    const StageLimits limits{.groups_max = 2};
    const auto stages = FastestStages(problem, limits);
    ASSERT_TRUE(stages.has_value());
    std::vector<int> places;
    EXPECT_NEAR(SumUs(problem, *stages), LeastUs(problem, limits, places), 1e-9) << round;
  }
}

}  // namespace
}  // namespace plait
