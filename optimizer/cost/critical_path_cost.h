#pragma once

#include <vector>

#include "absl/types/span.h"

namespace plait {

// One operator or kernel of a graph, as costs see it. Steps stand in a topological order.
// What a step runs on is of no matter here: machines are equal, and each runs one step at a time.
struct CostedStep {
  double latency_us = 0;
  std::vector<int> predecessors;  // indices of steps, all smaller than this step's own
};

// A graph's two lengths, in microseconds. No schedule on any number of machines beats critical_us,
// and none of list scheduling's is longer than ParallelBoundUs.
struct PathCost {
  // Also a lower bound when it is divided by the number of machines.
  double total_us = 0;     // T_1: everything one after the other
  double critical_us = 0;  // T_inf: the longest path

  // The mixed critical-path cost C_E = T_1 + alpha * T_inf (AutoGraph, AAAI 2023), divided by 1 +
  // alpha. With alpha = width - 1 that is Graham's bound on the makespan of any list schedule on
  // `width` equal machines (Graham 1969), T_1/P + (1 - 1/P) * T_inf; width 1 gives the plain sum.
  // More width never makes it longer, because the longest path is never longer than the sum.
  // REQUIRES: width >= 1.
  double ParallelBoundUs(double width) const {
    return (total_us + (width - 1) * critical_us) / width;
  }
};

// Both lengths in one pass, O(steps + edges). No steps have the lengths 0.
// REQUIRES: predecessors are smaller than their step.
PathCost MeasurePaths(absl::Span<const CostedStep> steps);

}  // namespace plait
