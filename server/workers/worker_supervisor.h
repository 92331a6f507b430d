#pragma once

#include <functional>
#include <string>
#include <thread>
#include <vector>

#include <sys/types.h>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "base/process.h"
#include "server/workers/worker_pool.h"

namespace plait {

struct WorkerSupervisorOptions {
  std::string program;                              // plait-worker
  std::vector<std::string> program_arguments = {};  // in front of all others
  std::vector<std::string> environment = {};        // "NAME=value"; nothing else reaches it
  std::string device;                               // what the worker shall own: "cpu"
  std::string server_address;                       // where it calls: "unix:PATH"
  std::string blobs_folder;     // of the server's blobs, which the worker reads there; may be empty
  std::string kernel_cache;     // a folder for the kernels that the worker compiles; may be empty
  int threads = 0;              // granted to the device; 0: all
  std::string instruction_set;  // the best that kernels may use; empty: all there are
  // A worker that has called, but not for this long, hangs, and is killed: ten of its calls.
  absl::Duration silence_max = absl::Seconds(10);
  // The same for one that has not called yet, from when its process began. A driver of many GPUs
  // takes tens of seconds to begin, and libraries of a gigabyte are read from a disk.
  absl::Duration start_max = absl::Seconds(60);
  // A worker that is at a task which nobody wants any more, for this long, cannot leave it, and is
  // killed. It leaves by itself within about three of its calls where it can.
  absl::Duration unwanted_max = absl::Seconds(8);
  // Of resident memory. The worker is told, and announces no more as its device's; one that takes
  // more is killed, and its task, which is what it takes memory for, ends with ResourceExhausted:
  // another worker would take as much. Looked at ten times a second, so that a worker may pass it
  // for a moment. 0: no limit.
  int64_t memory_bytes_max = 0;
  // Pauses between restarts grow from the first to the second.
  // They double with each worker that ended without having called, and begin anew after one that
  // did: a worker that crashes in a task is back in a moment, a program that is missing costs a
  // line of the log every half minute.
  absl::Duration backoff_min = absl::Milliseconds(200);
  absl::Duration backoff_max = absl::Seconds(30);
  std::function<void()> restarted;  // called on the supervisor's thread; may be empty
};

// Keeps one worker of this machine alive: starts it as a child, kills it when it hangs, starts it
// again when it has died. A thread of its own does it, for as long as this object lives, because
// the kernel ties a child to the thread that started it. Faults are logged and counted, never
// returned: a device without a worker is what the pool shows. Thread-safe.
//
// What a death costs: the pool is told at once, so the task's attempt counts and another worker
// gets it without waiting for the silence to be noticed. The worker runs as the daemon's user with
// an environment of its own; it is no sandbox for the models that it runs.
class WorkerSupervisor {
 public:
  // Starts the first worker, soon. `pool` and `clock` must outlive the supervisor.
  // `options.restarted` is called without a lock.
  WorkerSupervisor(WorkerPool& pool, Clock& clock, WorkerSupervisorOptions options);
  // Blocks until it is gone.
  // Kills the worker.
  ~WorkerSupervisor();

  // The worker that runs now; 0 while there is none.
  // For tests that kill it; it may be gone by the time the number is used.
  pid_t process_id();

 private:
  // The thread: one life of a worker after the other.
  void Run();
  // Starts a worker and returns when it is dead; true when it had been of use.
  bool RunWorker(int start_number);
  // Errors: ResourceExhausted when the worker has more memory than it may have.
  absl::Status CheckMemory(pid_t process_id) const;
  // The id is told to the worker, so that its calls can be told from those of an earlier life.
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
