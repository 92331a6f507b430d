#pragma once

#include <vector>

#include "optimizer/schedule/policy.h"

namespace plait {

// What no schedule of a problem's launches is under, however many streams it has.
struct MakespanBound {
  double makespan_us = 0;
  // By launch: what has to pass between its end and the end of everything.
  std::vector<double> tail_us;
};

// Paths, and between any two moments the work that has to be done there: launches that can neither
// begin before the one nor end behind the other have the device's cores, and its bandwidth, for no
// longer than the time between them (heads and tails of Jackson's preemptive schedule, Carlier
// 1982, with shares in the place of one machine). Each launch counts at the mode that takes least.
// Pure; O(launches^2).
MakespanBound BoundMakespan(const ScheduleProblem& problem);

}  // namespace plait
