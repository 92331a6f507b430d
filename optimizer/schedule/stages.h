#pragma once

#include <optional>
#include <vector>

#include "optimizer/schedule/policy.h"

namespace plait {

// Launches that start together: every group runs in line on a stream of its own, and all of them
// have ended before the next stage starts. Groups do not depend on each other. Both levels are
// ascending.
using Stage = std::vector<std::vector<int>>;

// What a stage may be: r and s of the pruning of IOS.
struct StageLimits {
  int group_launches_max = 3;
  int groups_max = 8;
  // Pairs of a state and an ending that may be looked at before the search gives up.
  int transitions_max = 4000;
};

// What a stage takes on the simulated device, in microseconds. A group without others takes of each
// launch the faster width, groups beside each other the narrow one.
double StageUs(const ScheduleProblem& problem, const Stage& stage);

// The stages of least time in sum, by the dynamic program of IOS (MLSys 2021, section 4): the last
// stage of a set of launches is an ending of it, a subset that nothing outside of it reads, and
// what is left is a set of the same kind. Pure; equal problems give equal stages. Without a value
// where there were more transitions than the limits allow: the number is exponential in how many
// launches can run side by side.
// REQUIRES: at most 64 launches.
std::optional<std::vector<Stage>> FastestStages(const ScheduleProblem& problem,
                                                const StageLimits& limits);

}  // namespace plait
