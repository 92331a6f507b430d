#pragma once

#include <cstdint>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

namespace plait {

// Tells watchers that a job has changed. A watcher notes Changes, reads the store, and awaits a
// change after what it noted; so no change is missed between reading and waiting. Thread-safe.
class EventHub {
 public:
  // Some job has changed. One number for all jobs is enough: a watcher that is woken for another
  // job asks the store once in vain.
  // Short and without waiting; the store calls it after each commit.
  void Notify();

  // The number of changes so far, for Await.
  // To be called before the store is read, not after.
  uint64_t Changes();

  // Waits until something has changed after `seen`, at most `time_max`.
  // May return for a change of another job, or for none when the time is over.
  void Await(uint64_t seen, absl::Duration time_max);

  // Ends all waits for good.
  // For good: watchers that come later do not wait either.
  void Close();
  bool closed();

 private:
  absl::Mutex mutex_;
  // Only rises. Not durable: a number of one daemon means nothing to the next.
  uint64_t changes_ ABSL_GUARDED_BY(mutex_) = 0;
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace plait
