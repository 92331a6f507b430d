#include "optimizer/schedule/policy.h"

namespace plait {
namespace {

// One kernel after the other, each at the width at which it is faster.
Schedule AssignSequential(const ScheduleProblem& problem, ScheduleMemo& /*memo*/) {
  Schedule schedule;
  for (size_t launch = 0; launch < problem.launches.size(); ++launch) {
    schedule.push_back({static_cast<int>(launch), 0, problem.launches[launch].whole_is_faster()});
  }
  return schedule;
}

}  // namespace

const SchedulePolicy kSequentialPolicy = {.name = "sequential", .assign_with = AssignSequential};

}  // namespace plait
