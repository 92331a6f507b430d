#pragma once

#include <cstdint>

#include "absl/strings/string_view.h"

// How much of the machine's memory this process has had at the most. Thread-safe.
namespace plait {

// The most bytes that were resident at once, since the process began or ResetPeakMemory. 0: the
// kernel does not say.
int64_t PeakMemoryBytes();

// From now on PeakMemoryBytes counts anew. Where the kernel does not allow it, it goes on as it
// was.
void ResetPeakMemory();

// The bytes that a text in the form of /proc/self/status says; 0 without any.
int64_t PeakMemoryBytesIn(absl::string_view status);

}  // namespace plait
