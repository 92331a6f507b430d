#include <algorithm>

#include "optimizer/schedule/list_schedule.h"
#include "optimizer/schedule/policy.h"
#include "optimizer/schedule/reachability.h"

// A fork-join on two threads: launches 0 and 5 take 6 us whole, 11 narrow; between them two
// branches of two launches each take 9 us whole, 10 narrow. In line that is 6 + 4*9 + 6 = 48 us.
// The stretch between the bottlenecks 0 and 5, all whole, takes 36; all narrow, two by two, 20: so
// the schedule is 6 + 20 + 6 = 32. Had the inner launches taken 3 us whole, in line would win with
// 12 against 20. A stretch is simulated 3 + 3 * 2 * launches times at most, which is why its size
// is bounded.

namespace plait {

namespace {

// 32: a stretch of this size is improved launch by launch in a few hundred short simulations.
constexpr int kStretchLaunchesMax = 32;

// Consecutive launches [first, end) whose widths are decided together.
struct Stretch {
  int first = 0;
  int end = 0;
};

// The stretches between bottlenecks, which are the bodies of fork-joins; long ones are cut.
std::vector<Stretch> FindStretches(const ScheduleProblem& problem) {
  std::vector<std::vector<int>> predecessors;
  for (const Launch& launch : problem.launches) predecessors.push_back(launch.predecessors);
  std::vector<int> ends = Bottlenecks(predecessors);
  ends.push_back(static_cast<int>(problem.launches.size()));
  std::vector<Stretch> stretches;
  int first = 0;
  for (const int end : ends) {
    for (; first < end; first += kStretchLaunchesMax) {
      stretches.push_back({first, std::min(end, first + kStretchLaunchesMax)});
    }
    first = end + 1;
  }
  return stretches;
}

// A stretch on its own: what comes from outside of it is there at the start.
ScheduleProblem BodyOf(const ScheduleProblem& problem, const Stretch& stretch) {
  ScheduleProblem body;
  body.device = problem.device;
  for (int launch = stretch.first; launch < stretch.end; ++launch) {
    Launch inner = problem.launches[launch];
    std::vector<int> predecessors;
    for (const int predecessor : inner.predecessors) {
      if (predecessor >= stretch.first) predecessors.push_back(predecessor - stretch.first);
    }
    inner.predecessors = std::move(predecessors);
    body.launches.push_back(std::move(inner));
  }
  return body;
}

std::vector<WidthChoice> FastestWidths(const ScheduleProblem& problem) {
  std::vector<WidthChoice> widths;
  for (const Launch& launch : problem.launches) {
    widths.push_back(launch.whole_is_faster() ? WidthChoice::kWhole : WidthChoice::kPart);
  }
  return widths;
}

// The widths under which the stretch's list schedule is shortest: starts from the best of each
// launch at its fastest, all narrow and automatic, then changes one launch at a time while that
// helps.
std::vector<WidthChoice> ChooseWidths(const ScheduleProblem& body) {
  const auto makespan_us = [&](const std::vector<WidthChoice>& widths) {
    return MakespanUs(body, ListSchedule(body, widths));
  };
  std::vector<WidthChoice> best = FastestWidths(body);
  double best_us = makespan_us(best);
  for (const WidthChoice uniform : {WidthChoice::kPart, WidthChoice::kAuto}) {
    std::vector<WidthChoice> widths(body.launches.size(), uniform);
    const double us = makespan_us(widths);
    if (us < best_us) {
      best = std::move(widths);
      best_us = us;
    }
  }
  // 3 passes: a change seldom makes one in an earlier place worthwhile more often than that.
  bool improved = true;
  for (int pass = 0; pass < 3 && improved; ++pass) {
    improved = false;
    for (size_t launch = 0; launch < body.launches.size(); ++launch) {
      for (const WidthChoice choice : {WidthChoice::kWhole, WidthChoice::kPart}) {
        std::vector<WidthChoice> widths = best;
        widths[launch] = choice;
        const double us = makespan_us(widths);
        if (us >= best_us) continue;
        best = std::move(widths);
        best_us = us;
        improved = true;
      }
    }
  }
  return best;
}

// Decides per fork-join stretch between one wide kernel after the other and narrow ones side by
// side, then keeps the shortest of that and the other policies' schedules under the simulator.
Schedule AssignPlait(const ScheduleProblem& problem) {
  std::vector<WidthChoice> widths = FastestWidths(problem);
  if (problem.device.streams_max > 1) {
    for (const Stretch& stretch : FindStretches(problem)) {
      const std::vector<WidthChoice> inner = ChooseWidths(BodyOf(problem, stretch));
      std::copy(inner.begin(), inner.end(), widths.begin() + stretch.first);
    }
  }
  Schedule best = kSequentialPolicy.assign(problem);
  double best_us = MakespanUs(problem, best);
  for (Schedule& schedule :
       std::vector<Schedule>{kGreedyPolicy.assign(problem), kNimblePolicy.assign(problem),
                             ListSchedule(problem, widths)}) {
    const double us = MakespanUs(problem, schedule);
    if (us < best_us) {
      best = std::move(schedule);
      best_us = us;
    }
  }
  return best;
}

}  // namespace

const SchedulePolicy kPlaitPolicy = {.name = "plait", .assign = AssignPlait};

}  // namespace plait
