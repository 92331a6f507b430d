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
  void Add(pid_t child);
  void Remove(pid_t child);
  void SetQuiet(bool quiet);

 private:
  absl::Mutex mutex_;
  bool quiet_ ABSL_GUARDED_BY(mutex_) = false;
  std::set<pid_t> children_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace plait
