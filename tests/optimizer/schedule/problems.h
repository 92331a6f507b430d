#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/random.h"
#include "optimizer/schedule/policy.h"

namespace plait {

// A launch that takes the whole of a device alone, or half of it beside others.
inline Launch LaunchOf(double whole_us, double part_us, std::vector<int> predecessors) {
  Launch launch;
  launch.whole = {whole_us, true, 1, 0};
  launch.part = {part_us, false, 0.5, 0};
  launch.predecessors = std::move(predecessors);
  return launch;
}

// A fork with two branches of two launches each, which two threads hardly speed up, and a join.
inline ScheduleProblem ForkJoin() {
  ScheduleProblem problem;
  problem.launches = {LaunchOf(6, 11, {}),  LaunchOf(9, 10, {0}), LaunchOf(9, 10, {0}),
                      LaunchOf(9, 10, {1}), LaunchOf(9, 10, {2}), LaunchOf(6, 11, {3, 4})};
  problem.device = {.threads = 2, .streams_max = 2};
  return problem;
}

// A launch of a GPU, which has one way to run.
inline Launch GpuLaunchOf(double latency_us, double compute_share, std::vector<int> predecessors) {
  Launch launch;
  launch.part = {latency_us, false, compute_share, 0};
  launch.whole = launch.part;
  launch.predecessors = std::move(predecessors);
  return launch;
}

// Up to three of the eight launches before this one, ascending.
inline std::vector<int> RandomPredecessors(int launch, Random& random) {
  std::vector<int> predecessors;
  for (int64_t left = random.Integer(0, 3); left > 0 && launch > 0; --left) {
    predecessors.push_back(static_cast<int>(random.Integer(std::max(0, launch - 8), launch - 1)));
  }
  std::sort(predecessors.begin(), predecessors.end());
  predecessors.erase(std::unique(predecessors.begin(), predecessors.end()), predecessors.end());
  return predecessors;
}

// Ten to fifty launches that take a tenth to all of a GPU of four streams, with gaps and hand-overs
// in every second problem. Equal seeds give equal problems.
inline ScheduleProblem RandomGpuProblem(uint64_t seed) {
  Random random(seed);
  ScheduleProblem problem;
  problem.device = {.threads = 132, .streams_max = 4};
  if (seed % 2 == 0) problem.device.overheads = {.launch_gap_us = 0.5, .cross_stream_us = 1};
  const auto count = static_cast<int>(random.Integer(10, 50));
  for (int launch = 0; launch < count; ++launch) {
    problem.launches.push_back(GpuLaunchOf(random.Uniform(1, 20), random.Uniform(0.1, 1),
                                           RandomPredecessors(launch, random)));
    LaunchMode& mode = problem.launches.back().part;
    mode.bandwidth_share = random.Uniform();
    problem.launches.back().whole = mode;
  }
  return problem;
}

// Ten to fifty launches for two threads, of which each scales or not.
inline ScheduleProblem RandomCpuProblem(uint64_t seed) {
  Random random(seed);
  ScheduleProblem problem;
  problem.device = {.threads = 2, .streams_max = 2};
  const auto count = static_cast<int>(random.Integer(10, 50));
  for (int launch = 0; launch < count; ++launch) {
    const double part_us = random.Uniform(2, 20);
    problem.launches.push_back(
        LaunchOf(part_us * random.Uniform(0.5, 1.1), part_us, RandomPredecessors(launch, random)));
  }
  return problem;
}

}  // namespace plait
