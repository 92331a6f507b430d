#pragma once

#include "optimizer/schedule/fluid_schedule.h"

namespace plait {

// The best of ScheduleFluid by how much may run at once and whether all launches run whole or none,
// and then by changing priorities, which begin as the longest remaining paths, and single launches'
// modes, at random from a fixed seed while that helps; on the fewest streams that cost no time.
// Stops at a thousandth above what no schedule is under (BoundMakespan), and bounds its own work.
// REQUIRES: as ScheduleFluid.
FluidSchedule SearchFluid(const ScheduleProblem& problem);

}  // namespace plait
