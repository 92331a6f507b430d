#pragma once

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "optimizer/base/clock.h"

namespace plait {

// A clock that moves only when a test moves it. Thread-safe.
class ManualClock : public Clock {
 public:
  absl::Time Now() override { return absl::UnixEpoch() + Monotonic(); }
  absl::Duration Monotonic() override {
    absl::MutexLock lock(&mutex_);
    return now_;
  }
  void Advance(absl::Duration duration) {
    absl::MutexLock lock(&mutex_);
    now_ += duration;
  }

 private:
  absl::Mutex mutex_;
  absl::Duration now_ ABSL_GUARDED_BY(mutex_) = absl::Seconds(1000);
};

}  // namespace plait
