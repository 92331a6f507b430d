#include "optimizer/schedule/policy.h"

namespace plait {
namespace {

// One kernel after the other, each at the width at which it is faster.
Schedule AssignSequential(const ScheduleProblem& problem) {
  Schedule schedule;
  for (size_t task = 0; task < problem.tasks.size(); ++task) {
    schedule.push_back({static_cast<int>(task), 0, problem.tasks[task].whole_is_faster()});
  }
  return schedule;
}

}  // namespace

const SchedulePolicy kSequentialPolicy = {.name = "sequential", .assign = AssignSequential};

}  // namespace plait
