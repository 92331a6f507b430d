#pragma once

#include <functional>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

namespace plait {

// Ctrl-C and SIGTERM. While a handler is set, the first signal calls it, and the second ends the
// program; without a handler the first one ends it. Thread-safe.
//
// Signals are read from a descriptor by a thread, not taken by a handler of the kernel's, so that
// what they do may lock, allocate and call a server.
class Interrupts {
 public:
  Interrupts() = default;
  // REQUIRES: no handler is set, and none runs.
  ~Interrupts();
  Interrupts(const Interrupts&) = delete;
  Interrupts& operator=(const Interrupts&) = delete;

  // Blocks the signals in this thread and in all threads that it starts later, and begins to wait
  // for them. REQUIRES: called first in main, before any other thread is there.
  // Children start with no signal blocked; see Process.
  void Start();

  // What the first signal does, on a thread of its own. Empty: the program ends. Returns when no
  // earlier handler runs any more. REQUIRES: not called by a handler.
  void SetHandler(std::function<void()> handler);

  // Whether there was a signal since the start; never false again.
  bool interrupted() const;

 private:
  // The thread. The second signal must not wait for the first one's handler, so that runs
  // elsewhere.
  void Wait();

  mutable absl::Mutex mutex_;
  std::function<void()> handler_ ABSL_GUARDED_BY(mutex_);
  std::thread caller_ ABSL_GUARDED_BY(mutex_);  // runs the handler
  int count_ ABSL_GUARDED_BY(mutex_) = 0;
  std::thread thread_;  // waits for signals
  int signals_ = -1;    // signalfd
  int stop_ = -1;       // eventfd
};

}  // namespace plait
