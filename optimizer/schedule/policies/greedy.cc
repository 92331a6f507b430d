#include "optimizer/schedule/list_schedule.h"

namespace plait {
namespace {

// List scheduling over all launches; each launch's width follows from what else could run beside
// it.
Schedule AssignGreedy(const ScheduleProblem& problem, ScheduleMemo& /*memo*/) {
  return ListSchedule(problem,
                      std::vector<WidthChoice>(problem.launches.size(), WidthChoice::kAuto));
}

}  // namespace

const SchedulePolicy kGreedyPolicy = {.name = "greedy", .assign_with = AssignGreedy};

}  // namespace plait
