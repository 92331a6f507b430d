#pragma once

#include "absl/time/time.h"

namespace plait {

// Where the time comes from; tests pass a fake. Implementations are thread-safe.
//
// Deadlines and durations are measured with Monotonic, always: wall-clock time jumps when somebody
// sets it, and a lease must not end by that.
class Clock {
 public:
  virtual ~Clock() = default;

  // Wall-clock time, for timestamps that people read; may jump.
  // What is stored as a time is this one.
  virtual absl::Time Now() = 0;

  // Time since an arbitrary start that never goes back, for measuring durations and deadlines.
  virtual absl::Duration Monotonic() = 0;
};

// The system's clock; lives as long as the program.
// Never null, never destroyed: threads may use it to the very end.
Clock& SystemClock();

}  // namespace plait
