#include "optimizer/schedule/stage_schedule.h"

namespace plait {
namespace {

// The most launches whose sets are one word; more than the widest cell of the networks that IOS was
// published for has.
constexpr int kStagedLaunchesMax = 64;

// 100,000: Inception-v3's plan stays the same from 40,000 on, and those of the NASNets gain nothing
// to speak of beyond it.
constexpr StageLimits kStageLimits = {.transitions_max = 100'000};

// IOS (MLSys 2021): the stages of least time in sum, block by block, with its pruning of r = 3
// launches a group and s = 8 groups, or as many as there are streams. What a stage takes is
// simulated where IOS measures. Its other strategy, merging the operators of a stage, is a rewrite
// of the graph here, which comes before any schedule. Instead of IOS's barriers between stages a
// plan has the waits that its launches need.
Schedule AssignIos(const ScheduleProblem& problem, ScheduleMemo& memo) {
  return ScheduleInStages(problem, kStagedLaunchesMax, kStageLimits, memo);
}

}  // namespace

const SchedulePolicy kIosPolicy = {.name = "ios", .assign_with = AssignIos};

}  // namespace plait
