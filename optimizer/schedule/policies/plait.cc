#include <algorithm>
#include <cstddef>
#include <limits>
#include <utility>
#include <vector>

#include "optimizer/cost/simulator.h"
#include "optimizer/schedule/blocks.h"
#include "optimizer/schedule/fluid_search.h"
#include "optimizer/schedule/list_schedule.h"
#include "optimizer/schedule/policy.h"
#include "optimizer/schedule/schedule_memo.h"
#include "optimizer/schedule/stage_schedule.h"

// A fork-join on two threads: launches 0 and 5 take 6 us whole, 11 narrow; between them two
// branches of two launches each take 9 us whole, 10 narrow. In line that is 6 + 4*9 + 6 = 48 us.
// The block between the bottlenecks 0 and 5, all whole, takes 36; all narrow, two by two, 20: so
// the schedule is 6 + 20 + 6 = 32. Had the inner launches taken 3 us whole, in line would win with
// 12 against 20. A block is simulated 3 + 3 * 2 * launches times at most, which is why its size
// is bounded.
//
// Where no launch runs alone, as on a GPU, there is nothing to decide between; there priorities are
// searched instead, how much may run at once, and which launches are narrow (fluid_search).

namespace plait {

namespace {

// 32: a block of this size is improved launch by launch in a few hundred short simulations.
constexpr int kListedLaunchesMax = 32;

// Every graph of a search is scheduled, so where there are many blocks IOS looks less far into them
// here than as a policy of its own.
constexpr int kQuickStagedLaunchesMax = 48;
constexpr StageLimits kQuickStageLimits = {.transitions_max = 4'000};

Schedule AssignQuickIos(const ScheduleProblem& problem, ScheduleMemo& memo) {
  if (problem.launches.size() <= kQuickStagedLaunchesMax) {
    return kIosPolicy.assign_with(problem, memo);
  }
  return ScheduleInStages(problem, kQuickStagedLaunchesMax, kQuickStageLimits, memo);
}

std::vector<WidthChoice> FastestWidths(const ScheduleProblem& problem) {
  std::vector<WidthChoice> widths;
  for (const Launch& launch : problem.launches) {
    widths.push_back(launch.whole_is_faster() ? WidthChoice::kWhole : WidthChoice::kPart);
  }
  return widths;
}

// The widths under which the block's list schedule is shortest: starts from the best of each
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
        if (choice == best[launch]) continue;
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

bool NoneRunsAlone(const ScheduleProblem& problem) {
  return std::none_of(problem.launches.begin(), problem.launches.end(),
                      [](const Launch& launch) { return launch.whole.alone || launch.part.alone; });
}

// Decides per fork-join between one wide kernel after the other and narrow ones side by side.
Schedule ListWithWidths(const ScheduleProblem& problem, ScheduleMemo& memo) {
  std::vector<WidthChoice> widths = FastestWidths(problem);
  if (problem.device.streams_max > 1) {
    for (const Block& block : FindBlocks(problem, kListedLaunchesMax)) {
      const std::vector<WidthChoice>& inner = memo.WidthsOf(BodyOf(problem, block), ChooseWidths);
      std::copy(inner.begin(), inner.end(), widths.begin() + block.first);
    }
  }
  return ListSchedule(problem, widths);
}

// The shortest schedule so far, and of equals the one with the fewest waits between streams.
class Best {
 public:
  explicit Best(const ScheduleProblem& problem) : problem_(problem) {}

  void Offer(Schedule schedule) {
    const std::vector<SimulatedStep> steps = StepsOf(problem_, schedule);
    const double us = Simulate(steps, problem_.device.overheads).makespan_us;
    size_t waits = 0;
    for (const SimulatedStep& step : steps) waits += step.waits.size();
    if (us > us_ || (us == us_ && waits >= waits_)) return;
    schedule_ = std::move(schedule);
    us_ = us;
    waits_ = waits;
  }

  Schedule Take() { return std::move(schedule_); }

 private:
  const ScheduleProblem& problem_;
  Schedule schedule_;
  double us_ = std::numeric_limits<double>::infinity();
  size_t waits_ = 0;
};

// The shortest of its own schedule and the other policies' under the simulator.
Schedule AssignPlait(const ScheduleProblem& problem, ScheduleMemo& memo) {
  Best best(problem);
  for (const SchedulePolicy* other : AllPolicies()) {
    if (other == &kPlaitPolicy) continue;
    best.Offer(other == &kIosPolicy ? AssignQuickIos(problem, memo)
                                    : other->assign_with(problem, memo));
  }
  if (!NoneRunsAlone(problem)) {
    best.Offer(ListWithWidths(problem, memo));
  } else if (problem.device.streams_max > 1) {
    if (FluidSchedule fluid = SearchFluid(problem); !fluid.schedule.empty()) {
      best.Offer(std::move(fluid.schedule));
    }
  }
  return best.Take();
}

}  // namespace

const SchedulePolicy kPlaitPolicy = {.name = "plait", .assign_with = AssignPlait};

}  // namespace plait
