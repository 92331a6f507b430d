#pragma once

#include <vector>

#include "optimizer/schedule/policy.h"

namespace plait {

// What list scheduling in the simulator's time goes by.
struct FluidOptions {
  std::vector<double> priority_us;  // by launch; of those that could start, the highest goes first
  // A launch waits while those that run and itself want more of the cores, or of the bandwidth. 1
  // lets nothing slow down; more lets short launches run beside a long one that takes nearly all.
  double share_max = 1;
  std::vector<bool> whole = {};  // by launch, which of its modes; empty: `part` of all
};

struct FluidSchedule {
  Schedule schedule;
  double makespan_us = 0;  // by the scheduler's own clock, which is close to the simulator's
};

// List scheduling for a device on which launches run beside each other as long as there is room:
// a launch goes to the stream on which a predecessor has just ended, else to the one that was freed
// last, so that what waited for room waits in the plan, too. Where ListSchedule sees free streams
// alone, this sees what launches take from each other, and what a hand-over takes. Pure; ties go to
// the lower launch. O(launches * streams + edges), for as many ready launches as streams.
// REQUIRES: no mode of a launch is alone.
FluidSchedule ScheduleFluid(const ScheduleProblem& problem, const FluidOptions& options);

}  // namespace plait
