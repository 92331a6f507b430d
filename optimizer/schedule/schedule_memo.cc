#include "optimizer/schedule/schedule_memo.h"

#include <initializer_list>

// A block's key is the row of all numbers that decide how it is scheduled: those of its device,
// then those of each launch, and a -1 behind its predecessors.

namespace plait {
namespace {

std::vector<double> KeyOf(const ScheduleProblem& block, std::initializer_list<double> limits) {
  const ScheduleDevice& device = block.device;
  std::vector<double> key(limits);
  key.reserve(16 + 12 * block.launches.size());
  key.insert(key.end(), {static_cast<double>(device.threads),
                         static_cast<double>(device.streams_max), device.bandwidth_bytes_per_us,
                         device.overheads.launch_gap_us, device.overheads.cross_stream_us});
  for (const Launch& launch : block.launches) {
    for (const LaunchMode& mode : {launch.whole, launch.part}) {
      key.insert(key.end(), {mode.latency_us, mode.alone ? 1.0 : 0.0, mode.compute_share,
                             mode.bandwidth_share});
    }
    key.insert(key.end(), launch.predecessors.begin(), launch.predecessors.end());
    key.push_back(-1);
  }
  return key;
}

}  // namespace

const std::optional<std::vector<Stage>>& ScheduleMemo::StagesOf(const ScheduleProblem& block,
                                                                const StageLimits& limits) {
  const auto [known, is_new] =
      stages_.try_emplace(KeyOf(block, {static_cast<double>(limits.group_launches_max),
                                        static_cast<double>(limits.groups_max),
                                        static_cast<double>(limits.transitions_max)}));
  if (is_new) known->second = FastestStages(block, limits);
  return known->second;
}

const std::vector<WidthChoice>& ScheduleMemo::WidthsOf(
    const ScheduleProblem& block, std::vector<WidthChoice> (*choose)(const ScheduleProblem&)) {
  const auto [known, is_new] = widths_.try_emplace(KeyOf(block, {}));
  if (is_new) known->second = choose(block);
  return known->second;
}

}  // namespace plait
