#include "optimizer/schedule/schedule_memo.h"

#include <bit>

// A problem is known by all numbers that decide how it is scheduled: those of its device, then
// those of each launch.

namespace plait {
namespace {

FingerprintBuilder& AddNumber(FingerprintBuilder& builder, double number) {
  return builder.Add(std::bit_cast<uint64_t>(number));
}

Fingerprint FingerprintOf(const ScheduleProblem& problem, FingerprintBuilder builder) {
  const ScheduleDevice& device = problem.device;
  builder.Add(device.threads).Add(device.streams_max);
  for (const double number : {device.bandwidth_bytes_per_us, device.overheads.launch_gap_us,
                              device.overheads.cross_stream_us}) {
    AddNumber(builder, number);
  }
  builder.Add(uint64_t{problem.launches.size()});
  for (const Launch& launch : problem.launches) {
    for (const LaunchMode& mode : {launch.whole, launch.part}) {
      AddNumber(builder, mode.latency_us).Add(mode.alone ? 1 : 0);
      AddNumber(builder, mode.compute_share);
      AddNumber(builder, mode.bandwidth_share);
    }
    builder.Add(uint64_t{launch.predecessors.size()});
    for (const int predecessor : launch.predecessors) builder.Add(predecessor);
  }
  return builder.Finish();
}

}  // namespace

const Schedule& ScheduleMemo::ScheduleOf(const SchedulePolicy& policy,
                                         const ScheduleProblem& problem) {
  const auto [known, is_new] =
      schedules_.try_emplace(FingerprintOf(problem, FingerprintBuilder().Add(policy.name)));
  if (is_new) known->second = policy.assign_with(problem, *this);
  return known->second;
}

const std::optional<std::vector<Stage>>& ScheduleMemo::StagesOf(const ScheduleProblem& block,
                                                                const StageLimits& limits) {
  FingerprintBuilder builder;
  builder.Add(limits.group_launches_max).Add(limits.groups_max).Add(limits.transitions_max);
  const auto [known, is_new] = stages_.try_emplace(FingerprintOf(block, builder));
  if (is_new) known->second = FastestStages(block, limits);
  return known->second;
}

const std::vector<WidthChoice>& ScheduleMemo::WidthsOf(
    const ScheduleProblem& block, std::vector<WidthChoice> (*choose)(const ScheduleProblem&)) {
  const auto [known, is_new] = widths_.try_emplace(FingerprintOf(block, {}));
  if (is_new) known->second = choose(block);
  return known->second;
}

}  // namespace plait
