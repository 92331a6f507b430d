#include "optimizer/schedule/list_schedule.h"

namespace plait {
namespace {

// List scheduling over all tasks; each task's width follows from what else could run beside it.
Schedule AssignGreedy(const ScheduleProblem& problem) {
  return ListSchedule(problem, std::vector<WidthChoice>(problem.tasks.size(), WidthChoice::kAuto));
}

}  // namespace

const SchedulePolicy kGreedyPolicy = {.name = "greedy", .assign = AssignGreedy};

}  // namespace plait
