#pragma once

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace plait {

// A control group that a process is in, or one that it lies in.
struct ControlGroup {
  std::string folder;       // where its files are; it need not exist
  bool is_unified = false;  // of the second version, in which files have other names
};

// The groups of a process that limit what `controller`, such as "memory" or "cpu", is about: its
// own and all above it. `groups` is what /proc/PID/cgroup says, `root` the directory of the control
// groups: /sys/fs/cgroup. Both versions are read. Within a container a process's own group is not
// to be seen there: it is the root, which is always among them. Pure.
std::vector<ControlGroup> ControlGroupsOf(absl::string_view controller, absl::string_view groups,
                                          const std::string& root);

// What /proc/self/cgroup says; empty where it cannot be read.
std::string OwnControlGroups();

// Where systems have them.
inline constexpr absl::string_view kControlGroupsRoot = "/sys/fs/cgroup";

}  // namespace plait
