#include "optimizer/schedule/policy.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "optimizer/schedule/partial_order.h"
#include "optimizer/schedule/schedule_memo.h"

namespace plait {

namespace {

constexpr const SchedulePolicy* kPolicies[] = {
#define PLAIT_POLICY(name, Name) &k##Name##Policy,
#include "optimizer/schedule/policies.def"
#undef PLAIT_POLICY
};

LaunchMode ModeOfChoice(const KernelChoice& choice, const ScheduleDevice& device) {
  LaunchMode mode;
  mode.latency_us = choice.latency_us;
  mode.alone = choice.kernel.width >= device.threads;
  mode.compute_share = choice.compute_share;
  if (device.bandwidth_bytes_per_us > 0 && choice.latency_us > 0) {
    const double rate = static_cast<double>(choice.bytes) / choice.latency_us;
    mode.bandwidth_share = std::min(1.0, rate / device.bandwidth_bytes_per_us);
  }
  return mode;
}

}  // namespace

ScheduleDevice ScheduleDeviceOf(const DeviceDescription& device) {
  return {.threads = device.threads,
          .streams_max = std::max(1, device.streams_max > 0 ? device.streams_max : device.threads),
          .bandwidth_bytes_per_us = device.bandwidth_bytes_per_us,
          .overheads = {.launch_gap_us = device.launch_gap_us,
                        .cross_stream_us = device.cross_stream_us}};
}

ScheduleProblem MakeScheduleProblem(const Cover& cover, const ScheduleDevice& device) {
  ScheduleProblem problem;
  problem.device = device;
  for (const CoverStep& step : cover.steps) {
    problem.launches.push_back({ModeOfChoice(step.group.whole, device),
                                ModeOfChoice(step.group.part, device), step.predecessors});
  }
  return problem;
}

Schedule SchedulePolicy::assign(const ScheduleProblem& problem) const {
  ScheduleMemo memo;
  return assign_with(problem, memo);
}

absl::Span<const SchedulePolicy* const> AllPolicies() { return kPolicies; }

absl::StatusOr<const SchedulePolicy*> FindPolicy(absl::string_view name) {
  for (const SchedulePolicy* policy : kPolicies) {
    if (policy->name == name) return policy;
  }
  const std::string names = absl::StrJoin(
      kPolicies, ", ",
      [](std::string* out, const SchedulePolicy* policy) { absl::StrAppend(out, policy->name); });
  return absl::InvalidArgumentError(
      absl::StrCat("schedule policy \"", name, "\" does not exist: use one of ", names));
}

const LaunchMode& ModeOf(const ScheduleProblem& problem, const Placement& placement) {
  const Launch& launch = problem.launches[placement.launch];
  return placement.whole ? launch.whole : launch.part;
}

std::vector<SimulatedStep> StepsOf(const ScheduleProblem& problem, const Schedule& schedule) {
  std::vector<SimulatedStep> steps;
  std::vector<int> place(problem.launches.size(), -1);
  PartialOrder order;
  for (const Placement& placement : schedule) {
    const LaunchMode& mode = ModeOf(problem, placement);
    std::vector<int> needed;
    for (const int predecessor : problem.launches[placement.launch].predecessors) {
      needed.push_back(place[predecessor]);
    }
    place[placement.launch] = static_cast<int>(steps.size());
    SimulatedStep step;
    step.latency_us = mode.latency_us;
    step.stream = placement.stream;
    step.alone = mode.alone;
    step.compute_share = mode.compute_share;
    step.bandwidth_share = mode.bandwidth_share;
    step.waits = order.AddStepThatNeeds(placement.stream, mode.alone, needed);
    steps.push_back(std::move(step));
  }
  return steps;
}

double MakespanUs(const ScheduleProblem& problem, const Schedule& schedule) {
  return Simulate(StepsOf(problem, schedule), problem.device.overheads).makespan_us;
}

}  // namespace plait
