#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

namespace plait {

// Tells watchers that their job has changed. A watcher notes Changes, reads the store, and awaits a
// change after what it noted; so no change is missed between reading and waiting. Thread-safe.
class EventHub {
 private:
  // A job that is watched.
  struct WatchedJob {
    // Only rises. Not durable: a number of one daemon means nothing to the next.
    uint64_t changes = 0;
    int watchers = 0;
  };
  using WatchedJobs = std::map<std::string, WatchedJob, std::less<>>;

 public:
  // Somebody who watches a job, for as long as this object lives. One thread at a time.
  class Watcher {
   public:
    // `hub` must outlive the watcher. The job need not exist.
    Watcher(EventHub& hub, absl::string_view job_id);
    ~Watcher();
    Watcher(const Watcher&) = delete;
    Watcher& operator=(const Watcher&) = delete;

    // The number of changes so far, for Await.
    // To be called before the store is read, not after.
    uint64_t Changes();

    // Waits until the job has changed after `seen`, at most `time_max`.
    // May return for no change when the time is over. True when there was one.
    bool Await(uint64_t seen, absl::Duration time_max);

   private:
    EventHub& hub_;
    const WatchedJobs::iterator job_;
  };

  // A job has changed.
  // Short and without waiting; the store calls it after each commit.
  void Notify(absl::string_view job_id);

  // Ends all waits for good.
  // For good: watchers that come later do not wait either.
  void Close();
  bool closed();

 private:
  absl::Mutex mutex_;
  // By job. Only those that are watched, so that jobs that are over cost nothing.
  WatchedJobs jobs_ ABSL_GUARDED_BY(mutex_);
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace plait
