#pragma once

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"

// How much memory this process may have. Thread-safe.
namespace plait {

// The machine's memory in bytes, of which other programs have a part, or what the process's control
// groups leave of it.
int64_t MachineMemoryBytes();

// As much of it as `bytes_max` allows; 0: all.
int64_t MachineMemoryBytesUpTo(int64_t bytes_max);

// The least limit of the memory of control groups and of those that they lie in, in bytes; the
// largest int64 without one. `groups` and `root`: see ControlGroupsOf.
int64_t GroupMemoryBytes(absl::string_view groups, const std::string& root);

}  // namespace plait
