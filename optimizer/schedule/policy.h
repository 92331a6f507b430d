#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "optimizer/cost/simulator.h"
#include "optimizer/cover/cover.h"

namespace plait {

// One of the two ways to run a launch.
struct LaunchMode {
  double latency_us = 0;
  bool alone = false;          // takes the whole device
  double compute_share = 1;    // of the device's cores
  double bandwidth_share = 0;  // of the device's memory bandwidth; 0 where that is unknown
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
struct ScheduleDevice {
  int threads = 1;                    // width of a kernel that runs alone
  int streams_max = 1;                // streams that make progress at the same time
  double bandwidth_bytes_per_us = 0;  // 0: unknown, and then never a limit
  SimulatorOptions overheads;
};

// The launches of a cover, in a topological order, on a device.
struct ScheduleProblem {
  std::vector<Launch> launches;
  ScheduleDevice device;
};

ScheduleProblem MakeScheduleProblem(const Cover& cover, const ScheduleDevice& device);

struct Placement {
  int launch = 0;
  int stream = 0;
  bool whole = true;  // which mode
  friend bool operator==(const Placement&, const Placement&) = default;
};

// every launch once, in the order of issue: predecessors come first.
using Schedule = std::vector<Placement>;

// A way to order launches and give them streams and widths: a constant, defined in the file named
// after it and listed in policies.def.
struct SchedulePolicy {
  absl::string_view name;
  Schedule (*assign)(const ScheduleProblem& problem);
};

#define PLAIT_POLICY(name, Name) extern const SchedulePolicy k##Name##Policy;
#include "optimizer/schedule/policies.def"
#undef PLAIT_POLICY

absl::Span<const SchedulePolicy* const> AllPolicies();

// Errors: InvalidArgument naming the policies there are.
absl::StatusOr<const SchedulePolicy*> FindPolicy(absl::string_view name);

const LaunchMode& ModeOf(const ScheduleProblem& problem, const Placement& placement);

// The schedule as the simulator sees it, with the waits between streams that its launches need.
std::vector<SimulatedStep> StepsOf(const ScheduleProblem& problem, const Schedule& schedule);

// How long the schedule takes on the simulated device.
double MakespanUs(const ScheduleProblem& problem, const Schedule& schedule);

}  // namespace plait
