#pragma once

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "base/clock.h"

namespace plait {

// A clock that moves only when a test moves it. Thread-safe.
class ManualClock : public Clock {
 public:
  absl::Time Now() override { return absl::FromUnixSeconds(1'700'000'000) + Elapsed(); }
  absl::Duration Monotonic() override { return absl::Seconds(1000) + Elapsed(); }
  void Advance(absl::Duration duration) {
    absl::MutexLock lock(&mutex_);
    elapsed_ += duration;
  }

 private:
  absl::Duration Elapsed() {
    absl::MutexLock lock(&mutex_);
    return elapsed_;
  }

  absl::Mutex mutex_;
  absl::Duration elapsed_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace plait
