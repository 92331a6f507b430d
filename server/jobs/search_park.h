#pragma once

#include <set>

#include <sys/types.h>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

namespace plait {

// Keeps the search children still while something is timed on the processor that they share with
// the worker: they are stopped by a signal and continued afterwards. Thread-safe.
class SearchPark {
 public:
  // From now on the child is stopped and continued with the others; at once when it is quiet.
  void Add(pid_t child);
  // Leaves the child as it is, from now on: one that is stopped can still be killed. REQUIRES: it
  // has not been waited for, so that the number is still its own.
  void Remove(pid_t child);
  // Stops all children, or continues them. Called for each change of what the workers here do.
  void SetQuiet(bool quiet);

 private:
  absl::Mutex mutex_;
  bool quiet_ ABSL_GUARDED_BY(mutex_) = false;
  std::set<pid_t> children_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace plait
