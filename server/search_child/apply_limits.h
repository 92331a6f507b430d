#pragma once

#include "absl/strings/string_view.h"

namespace plait {

// Sets the limits of this process, and ties its life to the daemon's. `text` is
// "memory,cpu seconds,output bytes,daemon's process id"; a number of 0 limits nothing. False when
// it is something else, or the daemon is gone. Allocations beyond the limit end the process with
// kMemoryLimitExit, and so does an abort where hardly any memory is left.
bool ApplyLimits(absl::string_view text);

}  // namespace plait
