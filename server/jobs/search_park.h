#pragma once

#include <map>

#include <sys/types.h>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/file_descriptor.h"

namespace plait {

// Keeps the search children still while something is timed on the processor that they share with
// the worker, so that they do not disturb it: they are stopped by a signal and continued
// afterwards. Thread-safe.
class SearchPark {
 public:
  // `clock` must outlive the park.
  explicit SearchPark(Clock& clock) : clock_(clock) {}

  // A child has started; it is stopped at once when it is quiet time.
  // REQUIRES: it was not reaped yet, so that the number is its own. Signals go to the process and
  // not to its number: one that has ended in the meantime gets none, nor does a later process.
  void Add(pid_t child);
  // The child's conversation is over. It may still live, and be stopped: then it stays so until its
  // runner kills it, for which SIGKILL needs no SIGCONT.
  void Remove(pid_t child);
  // How long the child has been stopped since it was added; zero for one that is not here.
  absl::Duration StoppedFor(pid_t child);
  // Idempotent. Locks are taken in this order: the pool's, then the park's.
  // Quiet time begins or ends. Called with the worker pool's lock held: short, calls nobody.
  void SetQuiet(bool quiet);

 private:
  struct Child {
    FileDescriptor process;  // a pidfd
    absl::Duration stopped_at;
    absl::Duration stopped_for;  // in the quiet times that are over
  };

  Clock& clock_;
  absl::Mutex mutex_;
  bool quiet_ ABSL_GUARDED_BY(mutex_) = false;
  // Those whose conversations go on; see Remove.
  std::map<pid_t, Child> children_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace plait
