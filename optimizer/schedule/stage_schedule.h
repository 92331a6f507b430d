#pragma once

#include "optimizer/schedule/policy.h"
#include "optimizer/schedule/stages.h"

namespace plait {

// A whole problem in the stages of IOS: a launch that nothing can run beside is a stage of its own,
// and what lies between such launches is solved by FastestStages, block by block. A block of more
// than `block_launches_max` launches is cut, and one of more transitions than the limits allow is
// solved as two halves. A stage has as many groups as the device has streams, at most those of the
// limits. A launch beside nothing takes the faster width, one beside others the narrow one. Equal
// problems give equal schedules, whatever the memo knows.
// REQUIRES: 1 <= block_launches_max <= 64.
Schedule ScheduleInStages(const ScheduleProblem& problem, int block_launches_max,
                          const StageLimits& limits, ScheduleMemo& memo);

}  // namespace plait
