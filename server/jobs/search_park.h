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
  // The child's conversation is over: its number gets no signal from here on. JobRunner removes it
  // in two cases. It may still live, and be stopped: then it stays so until its runner kills it,
  // for which SIGKILL needs no SIGCONT. Or it died by itself, and was reaped a moment before this
  // call: until then SetQuiet could signal whoever was given the same number, which needs the
  // kernel to go once through all its numbers in that moment.
  void Remove(pid_t child);
  // Idempotent. Locks are taken in this order: the pool's, then the park's.
  // Quiet time begins or ends. Called with the worker pool's lock held: short, calls nobody.
  void SetQuiet(bool quiet);

 private:
  absl::Mutex mutex_;
  bool quiet_ ABSL_GUARDED_BY(mutex_) = false;
  // Those whose conversations go on; see Remove.
  std::set<pid_t> children_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace plait
