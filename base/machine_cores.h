#pragma once

#include <limits>
#include <string>

#include "absl/strings/string_view.h"

// How many processor cores this process may keep busy. Thread-safe.
namespace plait {

// What limits it.
struct CoreLimits {
  // Cores that its threads may run on. Control groups' sets of cores (cpusets) are part of it: the
  // system takes them out of every thread's set.
  int allowed = 1;
  // Cores' worth of time that its control groups grant it, such as 2.5; infinite without a limit.
  double quota = std::numeric_limits<double>::infinity();

  // Threads that compute beside each other: as many as run all the time. One more than the quota
  // has time for would have all of them wait, again and again, for a tenth of a second. At least 1.
  int threads() const;
};

CoreLimits MachineCoreLimits();

// MachineCoreLimits().threads(): what "all cores" means wherever plait starts threads.
int MachineCores();

// The least quota of control groups and of those that they lie in, in cores; infinite without one.
// `groups` and `root`: see ControlGroupsOf.
double GroupCoreQuota(absl::string_view groups, const std::string& root);

}  // namespace plait
