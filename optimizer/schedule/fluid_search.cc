#include "optimizer/schedule/fluid_search.h"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "base/random.h"
#include "optimizer/schedule/makespan_bound.h"

namespace plait {
namespace {

// Between nothing that slows down and nothing that waits.
constexpr double kShareMaxes[] = {1, 1.1, 1.25, 1.5, 2, 3, 100};

// Launches placed in all: 600 schedules of NASNet-large, a quarter of a second. Later ones gain
// little: there 500 schedules find 95 % of what 3,000 do.
constexpr int64_t kPlacementsMax = 400'000;

// Schedules in a row that gain nothing, after which the next would gain nothing, either.
constexpr int kPatience = 200;

// 4,000: beyond it the bound alone, which is quadratic, would take as long as the search.
constexpr size_t kBoundLaunchesMax = 4'000;

// The launches that have two modes.
std::vector<int> LaunchesWithAChoice(const ScheduleProblem& problem) {
  std::vector<int> launches;
  for (size_t launch = 0; launch < problem.launches.size(); ++launch) {
    const auto& [whole, part, predecessors] = problem.launches[launch];
    if (whole != part) launches.push_back(static_cast<int>(launch));
  }
  return launches;
}

// A step away from the best so far: up to four priorities by up to 30 %, once in ten another
// share_max, and once in two another mode of a launch that has two.
FluidOptions Changed(FluidOptions options, const std::vector<int>& with_a_choice, Random& random) {
  const auto last = static_cast<int64_t>(options.priority_us.size()) - 1;
  if (!with_a_choice.empty() && random.Integer(1, 2) == 1) {
    const auto count = static_cast<int64_t>(with_a_choice.size());
    options.whole[with_a_choice[random.Integer(0, count - 1)]].flip();
  }
  for (int64_t left = random.Integer(1, 4); left > 0; --left) {
    const double spread = 0.1 * static_cast<double>(random.Integer(1, 3));
    options.priority_us[random.Integer(0, last)] *= 1 + random.Uniform(-spread, spread);
  }
  if (random.Integer(1, 10) == 1) options.share_max = random.Uniform(1, 3);
  return options;
}

// The schedule of `options` on the fewest streams that cost no time: short branches behind each
// other beside a long one hand over less, and need fewer edges. `best` is what they give on all
// streams.
FluidSchedule OnFewestStreams(ScheduleProblem problem, const FluidOptions& options,
                              FluidSchedule best) {
  // Times that are added up in another order differ by less.
  const double makespan_us_max = best.makespan_us * (1 + 1e-9);
  const int streams_max = problem.device.streams_max;
  for (int streams = 1; streams < streams_max; ++streams) {
    problem.device.streams_max = streams;
    FluidSchedule fewer = ScheduleFluid(problem, options);
    fewer.makespan_us = MakespanUs(problem, fewer.schedule);
    if (fewer.makespan_us <= makespan_us_max) return fewer;
  }
  return best;
}

}  // namespace

FluidSchedule SearchFluid(const ScheduleProblem& problem) {
  FluidSchedule best;
  if (problem.launches.empty() || problem.launches.size() > kBoundLaunchesMax) return best;
  best.makespan_us = std::numeric_limits<double>::infinity();
  const MakespanBound bound = BoundMakespan(problem);
  FluidOptions best_options;
  for (size_t launch = 0; launch < problem.launches.size(); ++launch) {
    best_options.priority_us.push_back(bound.tail_us[launch] +
                                       problem.launches[launch].part.latency_us);
  }
  // The simulator decides; the scheduler's own clock, which sees launches wait that no stream has
  // wait, says when not to ask it.
  const auto improves = [&](const FluidOptions& options) {
    FluidSchedule schedule = ScheduleFluid(problem, options);
    if (schedule.makespan_us > best.makespan_us) return false;
    if (schedule.schedule == best.schedule) return true;
    schedule.makespan_us = MakespanUs(problem, schedule.schedule);
    if (schedule.makespan_us > best.makespan_us) return false;  // equals: plateaus are wide
    best = std::move(schedule);
    return true;
  };
  const std::vector<int> with_a_choice = LaunchesWithAChoice(problem);
  FluidOptions options = best_options;
  for (const bool whole : {false, true}) {
    if (whole && with_a_choice.empty()) break;
    options.whole.assign(problem.launches.size(), whole);
    for (const double share_max : kShareMaxes) {
      options.share_max = share_max;
      if (improves(options)) best_options = options;
    }
  }
  Random random(1);
  const auto size = static_cast<int64_t>(problem.launches.size());
  int in_vain = 0;
  for (int64_t left = kPlacementsMax; left >= size && in_vain < kPatience; left -= size) {
    if (best.makespan_us <= 1.001 * bound.makespan_us) break;
    const double before_us = best.makespan_us;
    options = Changed(best_options, with_a_choice, random);
    if (improves(options)) best_options = options;
    in_vain = best.makespan_us < before_us ? 0 : in_vain + 1;
  }
  return OnFewestStreams(problem, best_options, std::move(best));
}

}  // namespace plait
