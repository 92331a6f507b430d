#pragma once

#include <vector>

#include "optimizer/schedule/policy.h"

namespace plait {

// What is decided about a launch's width before list scheduling.
enum class WidthChoice {
  kAuto,  // whole when nothing else could run meanwhile and it then finishes earlier
  kWhole,
  kPart,
};

// List scheduling (LIOS, IEEE TSC 2023): repeatedly takes the ready launch that can start first,
// among those the one with the longest remaining path, and gives it to the stream that frees first.
// A launch that runs alone waits for all streams and holds all of them. Gaps between launches
// count, contention does not: that is the simulator's. Pure; ties go to the lower launch, so equal
// problems give equal schedules.
// REQUIRES: `widths` has one entry per launch.
Schedule ListSchedule(const ScheduleProblem& problem, const std::vector<WidthChoice>& widths);

}  // namespace plait
