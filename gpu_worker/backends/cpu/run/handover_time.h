#pragma once

#include "gpu_worker/backends/cpu/team/team.h"

namespace plait {

// What a cache line takes from one thread of the team to the next, in microseconds: a number goes
// round all of them. Reads for a millisecond at most. 0 where it is unknown: of a team of one
// thread, and where other programs have the cores. REQUIRES: the calling thread leads no team.
double HandoverUs(Team& team);

}  // namespace plait
