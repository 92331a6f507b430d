#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "server/jobs/job_runner.h"

namespace plait {

// How many jobs a daemon runs.
struct JobQueueOptions {
  // More than one makes searches share the processor; measuring stays one task per worker.
  int runners = 1;  // jobs that run at the same time
};

// The jobs that run in this daemon: takes queued ones from the store, in the order that it gives
// them out, and runs each on a thread. Thread-safe.
//
// How a job is found again after a crash: taking it is a transaction of the store (RUNNING, a new
// attempt, a lease), and nothing else of the queue is worth keeping. All state here is derived, and
// a daemon that restarts requeues what was RUNNING.
class JobQueue {
 public:
  // What is passed must outlive the queue.
  // No thread runs until Start.
  JobQueue(const JobRunnerContext& context, JobRunner& runner, const JobQueueOptions& options);
  // Blocks as Stop does.
  ~JobQueue() { Stop(); }

  // Starts the threads, which take jobs from now on. Called once.
  // REQUIRES: the store has recovered its jobs; otherwise one of the last daemon would be lost to
  // this one until the next start.
  void Start();

  // Running jobs go back into the queue; returns when none runs any more.
  // REQUIRES: not called on a runner's thread. Children are killed, not asked: their jobs are
  // released by the runner, uncounted, and a search begins anew in the next daemon.
  void Stop();

  // No more jobs are taken; running ones are finished. Does not wait for them.
  void Drain();

  // A job has changed in the store, or a worker has come: looks for work, and tells the job's
  // runner. Waits for nothing; may be called by the store on any thread.
  // An unknown id only makes idle runners look. Takes the queue's lock for a moment.
  void Wake(const std::string& job_id);

  // Queues the jobs again that are RUNNING in the store and run nowhere: a fault of the storage
  // kept their runners from saying how they ended. Called from time to time.
  // Errors of the storage are logged, and the next call tries again.
  void RecoverStrandedJobs();

  // Jobs that run now.
  // What a drained server waits for.
  int64_t running();

 private:
  // The life of a runner's thread. Search children are tied to it, so it lives until Stop.
  // Notes the number of changes before it looks for a job, so that none that comes in between is
  // slept over; the interval of polling is for workers, whose coming nobody announces.
  void Loop();
  // Takes and runs one job; false when there was none.
  // Errors of the storage are logged, and the next round tries again.
  bool RunNext();
  // Ids that some worker serves now: jobs for others stay queued.
  std::vector<std::string> Devices();

  const JobRunnerContext context_;
  JobRunner& runner_;
  const JobQueueOptions options_;
  // Set once and never cleared, both; the first one under the mutex, so that no waiter misses it.
  std::atomic<bool> stopping_ = false;
  std::atomic<bool> draining_ = false;
  absl::Mutex mutex_;
  // Rises with every Wake.
  uint64_t changes_ ABSL_GUARDED_BY(mutex_) = 0;
  // By job id.
  std::map<std::string, std::shared_ptr<Wakeup>> running_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::thread> threads_;
};

}  // namespace plait
