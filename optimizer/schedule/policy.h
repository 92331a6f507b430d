#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "optimizer/cost/simulator.h"
#include "optimizer/cover/cover.h"

// Map of this folder: this header is the problem (launches with two widths and their order), the
// answer (a placement per launch) and the list of policies. Read then
//   policies/        one policy per file; see policies.def
//   list_schedule    what greedy and plait build on
//   fluid_schedule, fluid_search   the same where launches take parts of a device, for plait
//   makespan_bound   what no schedule is under
//   blocks           the fork-joins that plait and ios schedule one by one
//   stages, stage_schedule   what ios solves for each of them, and what becomes of it
//   schedule_memo    what the schedules of several graphs have in common
//   matching, reachability   what nimble and blocks ask of a graph of launches
//   merge_chains     which streams nimble and opara share where a device has too few
//   partial_order    what a finished schedule promises, and which waits it needs for that
// A schedule knows no memory and no names; optimizer/plan makes a Plan of it.
namespace plait {

// One of the two ways to run a launch.
struct LaunchMode {
  double latency_us = 0;       // as profiled, alone on the device
  bool alone = false;          // takes the whole device; a barrier against everything else
  double compute_share = 1;    // of the device's cores, as profiled
  double bandwidth_share = 0;  // of the device's memory bandwidth; 0 where that is unknown
  friend bool operator==(const LaunchMode&, const LaunchMode&) = default;
};

// One launch that has to be placed.
struct Launch {
  LaunchMode whole;
  LaunchMode part;                // equal to `whole` where the backend has only one width
  std::vector<int> predecessors;  // ascending, all smaller than the launch

  // False when spreading the launch over the device costs more than it brings.
  bool whole_is_faster() const { return whole.latency_us <= part.latency_us; }
};

// What a device is, as far as schedules go.
// A kernel runs alone only where it says so by its width. On a processor one that takes all threads
// does, which walk through it together. On a GPU, whose blocks are given to whatever is free, none
// does: all have width 1, and what they take of the device is their share.
struct ScheduleDevice {
  int threads = 1;                    // width of a kernel that runs alone
  int streams_max = 1;                // streams that make progress at the same time
  double bandwidth_bytes_per_us = 0;  // 0: unknown, and then never a limit
  SimulatorOptions overheads;
};

// What the description says of it. A device may have more streams than threads.
ScheduleDevice ScheduleDeviceOf(const DeviceDescription& device);

// The launches of a cover, in a topological order, on a device.
struct ScheduleProblem {
  std::vector<Launch> launches;
  ScheduleDevice device;
};

// Launch i is step i of the cover. Shares are those of the kernels' profiles and, where the
// device's bandwidth is known, follow from their bytes.
ScheduleProblem MakeScheduleProblem(const Cover& cover, const ScheduleDevice& device);

// One launch in its place.
struct Placement {
  int launch = 0;
  int stream = 0;
  bool whole = true;  // which mode
  friend bool operator==(const Placement&, const Placement&) = default;
};

// Every launch once, in the order of issue: predecessors come first. The order is also the order
// within each stream.
using Schedule = std::vector<Placement>;

class ScheduleMemo;

// A way to order launches and give them streams and widths: a constant, defined in the file named
// after it and listed in policies.def.
struct SchedulePolicy {
  absl::string_view name;
  // Equal problems give equal schedules, whatever the memo knows. Safe from any thread with a memo
  // of its own.
  Schedule (*assign_with)(const ScheduleProblem& problem, ScheduleMemo& memo);

  // With a memo that is empty.
  Schedule assign(const ScheduleProblem& problem) const;
};

#define PLAIT_POLICY(name, Name) extern const SchedulePolicy k##Name##Policy;
#include "optimizer/schedule/policies.def"
#undef PLAIT_POLICY

// In the order of policies.def.
absl::Span<const SchedulePolicy* const> AllPolicies();

// Errors: InvalidArgument naming the policies there are.
absl::StatusOr<const SchedulePolicy*> FindPolicy(absl::string_view name);

// The mode that a placement chose; lives as long as the problem.
const LaunchMode& ModeOf(const ScheduleProblem& problem, const Placement& placement);

// The schedule as the simulator sees it, with the waits between streams that its launches need:
// only those that the partial order does not imply.
std::vector<SimulatedStep> StepsOf(const ScheduleProblem& problem, const Schedule& schedule);

// How long the schedule takes on the simulated device.
double MakespanUs(const ScheduleProblem& problem, const Schedule& schedule);

}  // namespace plait
