#pragma once

#include <cstdint>

#include <sys/eventfd.h>
#include <unistd.h>

#include "base/file_descriptor.h"

namespace plait {

// Wakes a thread that waits in poll(), which no condition variable can. A signal that comes while
// nobody waits is kept for the next poll; several at once count as one. Thread-safe.
class Wakeup {
 public:
  // Where the process has no descriptor left, a Wakeup never wakes: waiters poll with a time limit,
  // and notice a change a second later.
  Wakeup() : event_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

  // Makes the descriptor readable. Does not wait.
  void Signal() {
    // Fails only when the count is full, and then it is readable already.
    const uint64_t one = 1;
    [[maybe_unused]] const ssize_t written = write(event_.number(), &one, sizeof(one));
  }
  // REQUIRES: called before the waiter looks at what may have changed, not after, so that a signal
  // in between is not lost.
  // Never blocks, also when there was no signal.
  void Clear() {
    uint64_t count = 0;
    [[maybe_unused]] const ssize_t got = read(event_.number(), &count, sizeof(count));
  }
  // For poll(), to be watched for POLLIN. Lives as long as this object.
  int descriptor() const { return event_.number(); }

 private:
  FileDescriptor event_;
};

}  // namespace plait
