#include <algorithm>
#include <vector>

#include <gtest/gtest.h>

#include "optimizer/schedule/matching.h"
#include "optimizer/schedule/policy.h"
#include "optimizer/schedule/reachability.h"
#include "tests/optimizer/schedule/problems.h"

namespace plait {
namespace {

Reachability ReachabilityOf(const ScheduleProblem& problem) {
  std::vector<std::vector<int>> predecessors;
  for (const Launch& launch : problem.launches) predecessors.push_back(launch.predecessors);
  return Reachability(predecessors);
}

// How many launches may run side by side at most: as many as the fewest chains that hold all of
// them (Dilworth 1950).
int WidthOf(const Reachability& reachability, int launches) {
  std::vector<std::vector<int>> followers(launches);
  for (int i = 0; i < launches; ++i) {
    for (int j = i + 1; j < launches; ++j) {
      if (reachability.Reaches(i, j)) followers[i].push_back(j);
    }
  }
  const std::vector<int> next = MaximumMatching(followers, launches);
  return static_cast<int>(std::count(next.begin(), next.end(), -1));
}

// By launch.
std::vector<int> StreamsOf(const ScheduleProblem& problem) {
  std::vector<int> stream_of(problem.launches.size());
  for (const Placement& placement : kNimblePolicy.assign(problem)) {
    stream_of[placement.launch] = placement.stream;
  }
  return stream_of;
}

ScheduleProblem RandomProblem(uint64_t seed, int launches) {
  Random random(seed);
  ScheduleProblem problem;
  for (int launch = 0; launch < launches; ++launch) {
    problem.launches.push_back(
        LaunchOf(20, random.Uniform(1, 20), RandomPredecessors(launch, random)));
  }
  problem.device = {.threads = 64, .streams_max = 64};
  return problem;
}

// Pairs of launches without a path between them that share a stream.
int PairsInLine(const ScheduleProblem& problem) {
  const Reachability reachability = ReachabilityOf(problem);
  const std::vector<int> stream_of = StreamsOf(problem);
  int pairs = 0;
  for (size_t j = 0; j < stream_of.size(); ++j) {
    for (size_t i = 0; i < j; ++i) {
      const bool is_path = reachability.Reaches(static_cast<int>(i), static_cast<int>(j));
      if (stream_of[i] == stream_of[j] && !is_path) ++pairs;
    }
  }
  return pairs;
}

TEST(NimbleTest, WhatMayRunSideBySideDoesWhereTheDeviceHasTheStreams) {
  int problems_with_more_chains = 0;
  for (uint64_t seed = 0; seed < 100; ++seed) {
    ScheduleProblem problem = RandomProblem(seed, 30);
    const std::vector<int> unbounded = StreamsOf(problem);
    const int chains = 1 + *std::max_element(unbounded.begin(), unbounded.end());
    problem.device.streams_max =
        WidthOf(ReachabilityOf(problem), static_cast<int>(problem.launches.size()));
    if (chains > problem.device.streams_max) ++problems_with_more_chains;
    EXPECT_EQ(PairsInLine(problem), 0) << "seed " << seed;
  }
  EXPECT_GT(problems_with_more_chains, 0) << "no problem asks for the chains of a closure";
}

TEST(NimbleTest, UsesNoMoreStreamsThanTheDeviceHas) {
  for (uint64_t seed = 0; seed < 50; ++seed) {
    for (const int streams_max : {1, 2, 3, 5}) {
      ScheduleProblem problem = RandomProblem(seed, 30);
      problem.device.streams_max = streams_max;
      const std::vector<int> stream_of = StreamsOf(problem);
      EXPECT_LT(*std::max_element(stream_of.begin(), stream_of.end()), streams_max);
      EXPECT_GE(*std::min_element(stream_of.begin(), stream_of.end()), 0);
    }
  }
}

// Of three branches, of 60, 10 and 50 us, one has to give up its stream.
TEST(NimbleTest, TheBranchThatLosesLeastJoinsTheOneWithLessToDo) {
  ScheduleProblem problem;
  problem.launches = {LaunchOf(1, 2, {}), LaunchOf(60, 60, {0}), LaunchOf(10, 10, {0}),
                      LaunchOf(50, 50, {0}), LaunchOf(1, 2, {1, 2, 3})};
  problem.device = {.threads = 2, .streams_max = 2};
  const std::vector<int> stream_of = StreamsOf(problem);
  EXPECT_NE(stream_of[1], stream_of[3]);
  EXPECT_EQ(stream_of[2], stream_of[3]);
  EXPECT_NEAR(MakespanUs(problem, kNimblePolicy.assign(problem)), 1 + 60 + 1, 1e-9);
}

// Of the chain 1 -> 2 -> 4 launch 3 can run beside 2 alone, and it can run beside all of 0. In line
// with the chain 1 us is lost, in line with 0 it would be 40, although 0 has less to do.
TEST(NimbleTest, AStreamJoinsTheOneBesideWhichItHardlyRuns) {
  ScheduleProblem problem;
  problem.launches = {LaunchOf(50, 50, {}), LaunchOf(100, 100, {}), LaunchOf(1, 1, {1}),
                      LaunchOf(40, 40, {1}), LaunchOf(100, 100, {2, 3})};
  problem.device = {.threads = 2, .streams_max = 2};
  EXPECT_EQ(StreamsOf(problem), (std::vector<int>{0, 1, 1, 1, 1}));
}

}  // namespace
}  // namespace plait
