#pragma once

#include <utility>
#include <vector>

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

}  // namespace plait
