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

struct WorkerPoolOptions {
  // A worker that is silent for longer is dead; several times the interval in which it calls.
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
  int workers_idle = 0;
};

// Which worker does which task. Equal tasks are run once; a task whose worker is silent or lost is
// given to another, at most kAttemptsMax times; a late result of an old attempt is dropped. Knows
// nothing of gRPC and reads time from a clock only. Thread-safe.
class WorkerPool {
 public:
  // Hears how a task ended; called on any thread, with no lock held.
  using ResultCallback = std::function<void(const worker::v1::TaskResult& result)>;

  // `clock` must outlive the pool.
  WorkerPool(Clock& clock, WorkerPoolOptions options);

  // Wants a task done on a device with this id and fingerprint; the pool gives the task its id and
  // attempt. Returns the number of this interest, for Withdraw.
  int64_t Submit(const v1::Device& device, worker::v1::Task task, ResultCallback done);

  // The caller does not want the result any more; unknown numbers are ignored. A callback that has
  // begun already may still be running. A task that nobody wants is dropped.
  void Withdraw(int64_t interest);

  // One call of a worker: its state goes up, what it should do comes down.
  // REQUIRES: the request was checked.
  worker::v1::SynchronizeResponse Synchronize(const worker::v1::SynchronizeRequest& request,
                                              WorkerPlace place);

  // Waits until there may be work for an idle worker of this device, at most `time_max`.
  void AwaitWork(const v1::Device& device, absl::Duration time_max);

  // Forgets the workers that have been silent for too long. Called from time to time.
  void DropSilentWorkers();

  // A worker is known to be dead; its task is given to another.
  void DropWorker(absl::string_view worker_id);

  // No worker gets a new task from now on.
  void Drain();

  // When the worker last called; nothing when it is not connected.
  std::optional<absl::Duration> HeardAt(absl::string_view worker_id);

  std::vector<admin::v1::WorkerState> Workers();  // by id
  std::vector<DeviceAvailability> Devices();      // by id and fingerprint

 private:
  struct PoolTask {
    worker::v1::Task task;
    v1::Device device;
    std::string content_hash;
    std::string worker_id;  // empty while it waits
    std::map<int64_t, ResultCallback> interests;
  };
  struct Worker {
    v1::Device device;
    WorkerPlace place = WorkerPlace::kElsewhere;
    std::string task_id;
    absl::Duration heard_at;
    absl::Time synchronized_at;
  };
  struct Ended {
    std::vector<ResultCallback> callbacks;
    worker::v1::TaskResult result;
  };

  void HearState(const worker::v1::SynchronizeRequest& request, Worker& worker,
                 std::vector<Ended>& ended) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void TakeResult(const worker::v1::Completed& completed, Worker& worker, std::vector<Ended>& ended)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Assign(const std::string& worker_id, Worker& worker) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Lose(const std::string& worker_id, std::vector<Ended>& ended)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void LoseSilent(std::vector<Ended>& ended) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Retry(const std::string& task_id, worker::v1::TaskResult result, absl::string_view outcome,
             std::vector<Ended>& ended) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void End(const std::string& task_id, worker::v1::TaskResult result, std::vector<Ended>& ended)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Count(const PoolTask& task, absl::string_view outcome) const;
  bool HasWorkFor(const v1::Device& device) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
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
