#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "plait/admin/v1/admin.pb.h"
#include "plait/worker/v1/worker.pb.h"

namespace plait {

// Map of this folder: worker_pool decides which worker does which task, for the workers of this
// machine and for those that call from elsewhere; worker_supervisor keeps this machine's alive. How
// workers call is worker.proto and services/worker_service; who asks for tasks is
// jobs/job_conversation.
//
// Nothing here is durable. A daemon that restarts has no tasks and no workers: the jobs behind the
// tasks are queued again by the store, and workers that call again are new ones, whose old results
// are dropped.
//
struct WorkerPoolOptions {
  // A worker that is silent for longer is dead; several times the interval in which it calls.
  // It is longer than the supervisor's, so that a worker of this machine that hangs is killed
  // before its task is given away: two that time kernels on one processor would disturb each other.
  absl::Duration silence_max = absl::Seconds(15);
  // Called with the kind ("profile", "measure") and the outcome ("ok", "error", "retried", "lost").
  // With the pool's lock held: must be short and must not call the pool.
  std::function<void(absl::string_view kind, absl::string_view outcome)> task_ended;
  // Called when the first task begins or the last one ends on a processor of this machine, which
  // the searches share. With the pool's lock held: must be short and must not call the pool.
  std::function<void(bool measuring)> measuring_here;
};

// Where a worker runs, as far as the server can tell from how it is connected.
enum class WorkerPlace {
  kThisHost,   // it shares the processor with the searches
  kElsewhere,  // what it measures is disturbed by nothing here
};

// A device and how many workers serve it.
struct DeviceAvailability {
  v1::Device device;
  int workers = 0;
  // Those among `workers` that hold no task.
  int workers_idle = 0;
};

// Which worker does which task. Equal tasks are run once; a task whose worker is silent or lost is
// given to another, at most kAttemptsMax times; a late result of an old attempt is dropped. Knows
// nothing of gRPC and reads time from a clock only. Thread-safe.
//
// A task goes through: waiting, given to a worker, ended. It is given away again when its worker is
// lost, when the worker works on something else, or when it failed for a reason that may be the
// worker's; InvalidArgument, Unimplemented and ResourceExhausted are the task's own and final. What
// workers say is believed as far as the request was checked: a wrong time is found by nobody here.
//
// A task that loses three workers ends with an error, and its job decides what becomes of it.
class WorkerPool {
 public:
  // Hears how a task ended; called on any thread, with no lock held.
  // It runs on the thread that brought the news, mostly one of gRPC's: it must be short, and may
  // call the pool.
  using ResultCallback = std::function<void(const worker::v1::TaskResult& result)>;

  // `clock` must outlive the pool.
  WorkerPool(Clock& clock, WorkerPoolOptions options);

  // Wants a task done on a device with this id and fingerprint; the pool gives the task its id and
  // attempt. Returns the number of this interest, for Withdraw.
  //
  // Equal means: the same message, device and fingerprint, while the first one has not ended.
  // Nothing is checked against the connected workers: a task for a device that nobody serves waits
  // until somebody does or its interest is withdrawn.
  int64_t Submit(const v1::Device& device, worker::v1::Task task, ResultCallback done);

  // The caller does not want the result any more; unknown numbers are ignored. A callback that has
  // begun already may still be running. A task that nobody wants is dropped.
  // The answer of a worker that is at it belongs to no task then, and is dropped.
  void Withdraw(int64_t interest);

  // One call of a worker: its state goes up, what it should do comes down.
  // REQUIRES: the request was checked.
  // The same call repeated is harmless: a worker that has not heard of its task is told again, and
  // a result counts once, by task and attempt. Callbacks run before it returns.
  worker::v1::SynchronizeResponse Synchronize(const worker::v1::SynchronizeRequest& request,
                                              WorkerPlace place);

  // Waits until there may be work for an idle worker of this device, at most `time_max`.
  // Blocks a thread of the server meanwhile; a drain ends the wait.
  void AwaitWork(const v1::Device& device, absl::Duration time_max);

  // Forgets the workers that have been silent for too long. Called from time to time.
  // Otherwise a silent worker is found out only when another one calls.
  void DropSilentWorkers();

  // A worker is known to be dead; its task is given to another.
  // An unknown id is ignored.
  void DropWorker(absl::string_view worker_id);

  // No worker gets a new task from now on.
  // For good. Tasks that are being worked on go on, those that wait stay where they are.
  void Drain();

  // When the worker last called; nothing when it is not connected.
  // On the pool's clock, monotonic.
  std::optional<absl::Duration> HeardAt(absl::string_view worker_id);

  // Copies, of one moment; the next call may find others.
  std::vector<admin::v1::WorkerState> Workers();  // by id
  std::vector<DeviceAvailability> Devices();      // by id and fingerprint

 private:
  // Is in waiting_ exactly while worker_id is empty.
  struct PoolTask {
    worker::v1::Task task;
    v1::Device device;
    // Of the message without id and attempt, and of the device: see Submit.
    std::string content_hash;
    std::string worker_id;  // empty while it waits
    // Never empty: a task that nobody wants is ended.
    std::map<int64_t, ResultCallback> interests;
  };
  struct Worker {
    v1::Device device;
    WorkerPlace place = WorkerPlace::kElsewhere;
    // Empty, or the id of a task whose worker_id names this worker.
    std::string task_id;
    // Monotonic for the silence; the wall-clock time is for operators to read.
    absl::Duration heard_at;
    absl::Time synchronized_at;
  };
  // Collected under the lock and told after it, so that callbacks may call the pool.
  struct Ended {
    std::vector<ResultCallback> callbacks;
    worker::v1::TaskResult result;
  };

  // What the worker says that it is doing, against what the pool thinks that it does.
  void HearState(const worker::v1::SynchronizeRequest& request, Worker& worker,
                 std::vector<Ended>& ended) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // A result of another task or attempt than the present one is dropped.
  void TakeResult(const worker::v1::Completed& completed, Worker& worker, std::vector<Ended>& ended)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // The oldest task for the worker's device and fingerprint; both must be equal, because times of
  // another driver or build must not be mixed in.
  void Assign(const std::string& worker_id, Worker& worker) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Forgets the worker; its task counts the attempt.
  void Lose(const std::string& worker_id, std::vector<Ended>& ended)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void LoseSilent(std::vector<Ended>& ended) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // To the front of the queue, or to its end with `result` after the last attempt.
  void Retry(const std::string& task_id, worker::v1::TaskResult result, absl::string_view outcome,
             std::vector<Ended>& ended) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // REQUIRES: the task exists.
  void End(const std::string& task_id, worker::v1::TaskResult result, std::vector<Ended>& ended)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Count(const PoolTask& task, absl::string_view outcome) const;
  bool HasWorkFor(const v1::Device& device) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Tells `measuring_here` of a change, never of the same twice.
  void UpdateMeasuring() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  Clock& clock_;
  const WorkerPoolOptions options_;
  absl::Mutex mutex_;
  std::map<std::string, PoolTask> tasks_ ABSL_GUARDED_BY(mutex_);
  std::deque<std::string> waiting_ ABSL_GUARDED_BY(mutex_);  // ids of tasks, oldest first
  absl::flat_hash_map<std::string, std::string> task_by_content_ ABSL_GUARDED_BY(mutex_);
  absl::flat_hash_map<int64_t, std::string> task_by_interest_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, Worker, std::less<>> workers_ ABSL_GUARDED_BY(mutex_);
  int64_t last_task_ ABSL_GUARDED_BY(mutex_) = 0;
  int64_t last_interest_ ABSL_GUARDED_BY(mutex_) = 0;
  bool draining_ ABSL_GUARDED_BY(mutex_) = false;
  bool measuring_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace plait
