#pragma once

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "base/clock.h"

namespace plait {

// A clock that moves only when a test moves it. Thread-safe.
class ManualClock : public Clock {
 public:
  absl::Time Now() override {
    return absl::FromUnixSeconds(1'700'000'000) + Elapsed() + SetForwardBy();
  }
  absl::Duration Monotonic() override { return absl::Seconds(1000) + Elapsed(); }
  // As when somebody sets the time of the machine: the monotonic clock does not notice.
  void SetForward(absl::Duration duration) {
    absl::MutexLock lock(&mutex_);
    set_forward_ += duration;
  }
  void Advance(absl::Duration duration) {
    absl::MutexLock lock(&mutex_);
    elapsed_ += duration;
  }

 private:
  absl::Duration SetForwardBy() {
    absl::MutexLock lock(&mutex_);
    return set_forward_;
  }
  absl::Duration Elapsed() {
    absl::MutexLock lock(&mutex_);
    return elapsed_;
  }

  absl::Mutex mutex_;
  absl::Duration set_forward_ ABSL_GUARDED_BY(mutex_);
  absl::Duration elapsed_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace plait
