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
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/digest.h"
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
  // A worker ends a task at its deadline itself, and says so. One that cannot even do that is given
  // this long on top before the pool ends the task in its place: a few of its calls.
  absl::Duration deadline_grace = absl::Seconds(5);
  // Called with the kind ("profile", "measure", "measure_models") and the outcome ("ok", "error",
  // "retried", "lost").
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
// lost, or when it failed for a reason that may be the worker's; InvalidArgument, OutOfRange,
// Unimplemented, ResourceExhausted and DeadlineExceeded are the task's own and final: another
// worker would take as long. What workers say is believed as far as the request was checked: a
// wrong time is found by nobody here.
//
// A worker that is at a task which is not its own (withdrawn, past its deadline, or of a daemon
// that was here before) gets nothing until it has left it: it is told to be idle, and the task that
// would have been next waits for another or for this one, without an attempt counted.
//
// A task that loses three workers ends with an error, and its job decides what becomes of it.
class WorkerPool {
 public:
  // Hears how a task ended; called on any thread, with no lock held.
  // It runs on the thread that brought the news, mostly one of gRPC's: it must be short, and may
  // call the pool.
  using ResultCallback = std::function<void(const worker::v1::TaskResult& result)>;

  // Who wants a task done.
  struct Asker {
    std::string tenant;
    std::string job_id;  // may be empty: then nobody asks how long it waited
  };

  // Hears of each worker that died or went silent at the task, before the task is given to another
  // or ends. As ResultCallback.
  using LostCallback = std::function<void(absl::string_view worker_id)>;

  // `clock` must outlive the pool.
  WorkerPool(Clock& clock, WorkerPoolOptions options);

  // Wants a task done on a device with this id and fingerprint; the pool gives the task its id and
  // attempt. Returns the number of this interest, for Withdraw.
  //
  // Equal means: the same message, device and fingerprint, while the first one has not ended.
  // Nothing is checked against the connected workers: a task for a device that nobody serves waits
  // until somebody does or its interest is withdrawn. Tenants take turns; an equal task that
  // several want is of the first one.
  int64_t Submit(const v1::Device& device, worker::v1::Task task, ResultCallback done,
                 const Asker& asker = {}, LostCallback lost = nullptr);

  // The caller does not want the result any more; unknown numbers are ignored. A callback that has
  // begun already may still be running. A task that nobody wants is dropped.
  // The answer of a worker that is at it belongs to no task then, and is dropped.
  void Withdraw(int64_t interest);

  // How long a job has waited for tasks of others: it wanted tasks done, no worker was at any of
  // them, and one of its device was at somebody else's. Waiting for a device that nobody serves is
  // not part of it. Zero for a job that has asked for nothing.
  absl::Duration WaitedForOthers(absl::string_view job_id);

  // Nobody asks for the job any more. REQUIRES: its interests are withdrawn or have ended.
  void ForgetJob(absl::string_view job_id);

  // One call of a worker: its state goes up, what it should do comes down.
  // REQUIRES: the request was checked.
  // The same call repeated is harmless: a worker that has not heard of its task is told again, and
  // a result counts once, by task and attempt. Callbacks run before it returns.
  worker::v1::SynchronizeResponse Synchronize(const worker::v1::SynchronizeRequest& request,
                                              WorkerPlace place);

  // Whether the task that the worker was given names this blob, as its model, its table of weights
  // or an input: what it may read.
  bool HasTaskWithBlob(absl::string_view worker_id, const Digest& blob);

  // Waits until there may be work for an idle worker of this device, at most `time_max`.
  // Blocks a thread of the server meanwhile; a drain ends the wait.
  void AwaitWork(const v1::Device& device, absl::Duration time_max);

  // Forgets the workers that have been silent for too long, and ends tasks that are past their
  // deadline. Called from time to time: otherwise both are found out only when a worker calls.
  void CheckTimes();

  // A worker is known to be dead; its task is given to another, or ends with `task_error` when the
  // task is known to be to blame. A call of its that is still on its way is answered with nothing
  // to do: ids are not used again. An unknown id is ignored.
  void DropWorker(absl::string_view worker_id, const absl::Status& task_error = absl::OkStatus());

  // No worker gets a new task from now on.
  // For good. Tasks that are being worked on go on, those that wait stay where they are.
  void Drain();

  // When the worker last called; nothing when it is not connected.
  // On the pool's clock, monotonic.
  std::optional<absl::Duration> HeardAt(absl::string_view worker_id);

  // Since when the worker has been at a task that nobody wants of it; nothing when it is idle, at
  // its own task or not connected. Such a worker stops by itself within a few calls, unless what it
  // runs never ends. On the pool's clock, monotonic.
  std::optional<absl::Duration> UnwantedSince(absl::string_view worker_id);

  // Copies, of one moment; the next call may find others.
  std::vector<admin::v1::WorkerState> Workers();  // by id
  std::vector<DeviceAvailability> Devices();      // by id and fingerprint

 private:
  // Of somebody who wants a task done.
  struct Interest {
    ResultCallback done;
    LostCallback lost;  // may be null
    std::string job_id;
  };
  // See WaitedForOthers.
  struct Waiter {
    absl::Duration waited;                // until `since`, if that is set
    std::optional<absl::Duration> since;  // monotonic; set exactly while it waits
  };
  // Is in waiting_ exactly while worker_id is empty.
  struct PoolTask {
    worker::v1::Task task;
    v1::Device device;
    std::string tenant;
    // Of the message without id and attempt, and of the device: see Submit.
    std::string content_hash;
    std::string worker_id;  // empty while it waits
    // Monotonic; when the pool ends it. Set when it is given to a worker.
    absl::Duration ends_at = absl::InfiniteDuration();
    // Never empty: a task that nobody wants is ended.
    std::map<int64_t, Interest> interests;
  };
  struct Worker {
    v1::Device device;
    WorkerPlace place = WorkerPlace::kElsewhere;
    // Empty, or the id of a task whose worker_id names this worker.
    std::string task_id;
    // See UnwantedSince.
    std::optional<absl::Duration> unwanted_since;
    // Whether it computes, for us or for nobody.
    bool is_busy() const { return !task_id.empty() || unwanted_since.has_value(); }
    // Monotonic for the silence; the wall-clock time is for operators to read.
    absl::Duration heard_at;
    absl::Time synchronized_at;
  };
  // Collected under the lock and told after it, so that callbacks may call the pool.
  struct Ended {
    std::vector<ResultCallback> callbacks;
    worker::v1::TaskResult result;
    // Of a task that lost its worker; with no callbacks above where it goes on.
    std::vector<LostCallback> lost_callbacks;
    std::string lost_worker_id;
  };
  // Calls the callbacks. REQUIRES: the lock is not held.
  static void Tell(const std::vector<Ended>& ended);

  // What the worker says that it is doing, against what the pool thinks that it does.
  void HearState(const worker::v1::SynchronizeRequest& request, Worker& worker,
                 std::vector<Ended>& ended) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // A result of another task or attempt than the present one is dropped.
  void TakeResult(const worker::v1::Completed& completed, Worker& worker, std::vector<Ended>& ended)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // The oldest task of the tenant whose last turn is longest ago, for the worker's device and
  // fingerprint; both must be equal, because times of another driver or build must not be mixed in.
  void Assign(const std::string& worker_id, Worker& worker) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Forgets the worker; its task counts the attempt.
  void Lose(const std::string& worker_id, std::vector<Ended>& ended)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void LoseSilent(std::vector<Ended>& ended) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Ends the tasks that are past their deadline; their workers are at nobody's task from then on.
  void EndOverdue(std::vector<Ended>& ended) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Whether the worker is at the task and attempt that it was given.
  bool IsAtItsTask(const worker::v1::Executing& executing, const Worker& worker) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Takes a task back from a worker that never began it.
  void TakeBack(Worker& worker) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // To the front of the queue, or to its end with `result` after the last attempt.
  void Retry(const std::string& task_id, worker::v1::TaskResult result, absl::string_view outcome,
             std::vector<Ended>& ended) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // REQUIRES: the task exists.
  void End(const std::string& task_id, worker::v1::TaskResult result, std::vector<Ended>& ended)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Count(const PoolTask& task, absl::string_view outcome) const;
  bool HasWorkFor(const v1::Device& device) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Whether the worker runs on the processor on which the searches of this server run.
  static bool SharesProcessor(const Worker& worker);
  // Whether a worker of another device is at a task on this machine's processor. Runtimes are such
  // devices of the same processor: whoever were measured beside another would be disturbed.
  bool IsProcessorTaken(const v1::Device& device) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Called after every change of who is at which task.
  void AssignmentsChanged() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Tells `measuring_here` of a change, never of the same twice.
  void UpdateMeasuring() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void UpdateWaiters() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  Clock& clock_;
  const WorkerPoolOptions options_;
  // In the id of each task, and no other pool's: a worker that outlives a daemon must not answer a
  // task of the next one.
  const std::string epoch_;
  absl::Mutex mutex_;
  std::map<std::string, PoolTask> tasks_ ABSL_GUARDED_BY(mutex_);
  std::deque<std::string> waiting_ ABSL_GUARDED_BY(mutex_);  // ids of tasks, oldest first
  absl::flat_hash_map<std::string, std::string> task_by_content_ ABSL_GUARDED_BY(mutex_);
  absl::flat_hash_map<int64_t, std::string> task_by_interest_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, Worker, std::less<>> workers_ ABSL_GUARDED_BY(mutex_);
  absl::flat_hash_set<std::string> dropped_ ABSL_GUARDED_BY(mutex_);  // by DropWorker
  // By job.
  absl::flat_hash_map<std::string, Waiter> waiters_ ABSL_GUARDED_BY(mutex_);
  // When tenants had their last turns, counted in turns. Forgotten now and then, which costs a
  // tenant one turn.
  absl::flat_hash_map<std::string, int64_t> turns_ ABSL_GUARDED_BY(mutex_);
  int64_t last_turn_ ABSL_GUARDED_BY(mutex_) = 0;
  int64_t last_task_ ABSL_GUARDED_BY(mutex_) = 0;
  int64_t last_interest_ ABSL_GUARDED_BY(mutex_) = 0;
  bool draining_ ABSL_GUARDED_BY(mutex_) = false;
  bool measuring_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace plait
