#pragma once

#include <functional>
#include <string>
#include <thread>

#include <sys/types.h>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "server/workers/worker_pool.h"

namespace plait {

struct WorkerSupervisorOptions {
  std::string program;  // plait-worker
  std::string device;
  std::string server_address;
  int threads = 0;  // granted to the device; 0: all
  // A worker that has not called for this long hangs, and is killed.
  absl::Duration silence_max = absl::Seconds(10);
  // Pauses between restarts grow from the first to the second.
  absl::Duration backoff_min = absl::Milliseconds(200);
  absl::Duration backoff_max = absl::Seconds(30);
  std::function<void()> restarted;  // may be empty
};

// Keeps one worker of this machine alive: starts it as a child, kills it when it hangs, starts it
// again when it has died. Thread-safe.
class WorkerSupervisor {
 public:
  // `pool` and `clock` must outlive the supervisor.
  WorkerSupervisor(WorkerPool& pool, Clock& clock, WorkerSupervisorOptions options);
  // Kills the worker.
  ~WorkerSupervisor();

  // 0 while there is none.
  pid_t process_id();

 private:
  void Run();
  // Starts a worker and returns when it is dead; true when it had been of use.
  bool RunWorker(int start_number);
  pid_t Spawn(const std::string& worker_id);
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
