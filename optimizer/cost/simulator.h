#pragma once

#include <vector>

#include "absl/types/span.h"

namespace plait {

// A device's overheads around kernels, in microseconds. 0 where they were not calibrated, and where
// the steps' latencies contain them (see Profile).
// A prerequisite on the step's own stream costs the gap alone.
struct SimulatorOptions {
  double launch_gap_us = 0;    // between a step's last prerequisite and its start
  double cross_stream_us = 0;  // added when that prerequisite ran on another stream
};

// One launch of a schedule. Steps stand in launch order. A share is what a step takes of the device
// while it runs at full speed, from 0 to 1.
// A kernel that alone takes half of the cores has a share of 0.5, however long it runs.
struct SimulatedStep {
  double latency_us = 0;  // running alone on the device
  int stream = 0;
  bool alone = false;          // takes the whole device: a barrier against every other step
  double compute_share = 1;    // of the device's cores or SMs while it runs
  double bandwidth_share = 0;  // of the memory bandwidth while it runs
  std::vector<int> waits;      // steps on other streams, all earlier
};

// When everything happens, from the start of the schedule.
// Lists are by step.
struct Simulation {
  // The finish of the step that ends last; 0 without steps.
  double makespan_us = 0;
  std::vector<double> start_us;
  std::vector<double> finish_us;
};

// Runs a schedule through a fluid event simulation: a step starts when the step before it on its
// stream, its waits and the last barrier have finished; all running steps progress at the rate
// 1 / max(1, sum of compute shares, sum of bandwidth shares), so that they slow each other exactly
// when together they want more than there is. What a share does not say, such as caches that two
// kernels fight for, is not seen. Pure and thread-safe.
// An idle stream is free, and so is a step of no latency but for its gap.
// REQUIRES: waits name earlier steps; streams are not negative.
Simulation Simulate(absl::Span<const SimulatedStep> steps, const SimulatorOptions& options);

}  // namespace plait
