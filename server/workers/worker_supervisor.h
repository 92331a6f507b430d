#pragma once

#include <functional>
#include <string>
#include <thread>

#include <sys/types.h>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "base/process.h"
#include "server/workers/worker_pool.h"

namespace plait {

struct WorkerSupervisorOptions {
  std::string program;         // plait-worker
  std::string device;          // what the worker shall own: "cpu"
  std::string server_address;  // where it calls: "unix:PATH"
  int threads = 0;             // granted to the device; 0: all
  // A worker that has not called for this long hangs, and is killed.
  absl::Duration silence_max = absl::Seconds(10);
  // Pauses between restarts grow from the first to the second.
  absl::Duration backoff_min = absl::Milliseconds(200);
  absl::Duration backoff_max = absl::Seconds(30);
  std::function<void()> restarted;  // called on the supervisor's thread; may be empty
};

// Keeps one worker of this machine alive: starts it as a child, kills it when it hangs, starts it
// again when it has died. A thread of its own does it, for as long as this object lives, because
// the kernel ties a child to the thread that started it. Faults are logged and counted, never
// returned: a device without a worker is what the pool shows. Thread-safe.
class WorkerSupervisor {
 public:
  // Starts the first worker, soon. `pool` and `clock` must outlive the supervisor.
  WorkerSupervisor(WorkerPool& pool, Clock& clock, WorkerSupervisorOptions options);
  // Kills the worker.
  ~WorkerSupervisor();

  // The worker that runs now; 0 while there is none.
  pid_t process_id();

 private:
  void Run();
  // Starts a worker and returns when it is dead; true when it had been of use.
  bool RunWorker(int start_number);
  ProcessOptions WorkerProcess(const std::string& worker_id) const;
  void SetProcessId(pid_t process_id);
  // False when the supervisor ends.
  bool Pause(absl::Duration duration);

  WorkerPool& pool_;
  Clock& clock_;
  const WorkerSupervisorOptions options_;
  absl::Mutex mutex_;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  pid_t process_id_ ABSL_GUARDED_BY(mutex_) = 0;
  std::thread thread_;  // last, so that it starts when all else is ready
};

}  // namespace plait
