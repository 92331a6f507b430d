#pragma once

#include "absl/time/time.h"

namespace plait {

// Where the time comes from; tests pass a fake. Implementations are thread-safe.
class Clock {
 public:
  virtual ~Clock() = default;

  // Wall-clock time, for timestamps that people read; may jump.
  virtual absl::Time Now() = 0;

  // Time since an arbitrary start that never goes back, for measuring durations and deadlines.
  virtual absl::Duration Monotonic() = 0;
};

// The system's clock; lives as long as the program.
Clock& SystemClock();

}  // namespace plait
