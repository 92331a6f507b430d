#pragma once

#include <set>

#include <sys/types.h>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

namespace plait {

// Keeps the search children still while something is timed on the processor that they share with
// the worker, so that they do not disturb it: they are stopped by a signal and continued
// afterwards. The time of their jobs' deadlines goes on. Thread-safe.
class SearchPark {
 public:
  // A child has started; it is stopped at once when it is quiet time.
  void Add(pid_t child);
  // The child has ended: no signal is sent to its number any more, which may soon be another's.
  void Remove(pid_t child);
  // Quiet time begins or ends. Called with the worker pool's lock held: short, calls nobody.
  void SetQuiet(bool quiet);

 private:
  absl::Mutex mutex_;
  bool quiet_ ABSL_GUARDED_BY(mutex_) = false;
  std::set<pid_t> children_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace plait
