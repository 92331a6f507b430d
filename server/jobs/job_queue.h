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
  int runners = 1;  // jobs that run at the same time
};

// The jobs that run in this daemon: takes queued ones from the store, oldest first, and runs each
// on a thread. Jobs that are equal are not run side by side: the second waits for the first one's
// result. Thread-safe.
class JobQueue {
 public:
  // What is passed must outlive the queue.
  JobQueue(const JobRunnerContext& context, JobRunner& runner, const JobQueueOptions& options);
  ~JobQueue() { Stop(); }

  // Starts the threads, which take jobs from now on. Called once.
  void Start();

  // Running jobs go back into the queue; returns when none runs any more.
  void Stop();

  // No more jobs are taken; running ones are finished. Does not wait for them.
  void Drain();

  // A job has changed in the store, or a worker has come: looks for work, and tells the job's
  // runner. Waits for nothing; may be called by the store on any thread.
  void Wake(const std::string& job_id);

  // Jobs that run now, one waiting for an equal one included.
  int64_t running();

 private:
  // The life of a runner's thread. Search children are tied to it, so it lives until Stop.
  void Loop();
  // Takes and runs one job; false when there was none.
  bool RunNext();
  // Two equal jobs leased at the same moment may both pass: they measure together, at worst twice.
  void AwaitEqualJob(const LeasedJob& job, const std::string& request);
  // Ids that some worker serves now: jobs for others stay queued.
  std::vector<std::string> Devices();

  const JobRunnerContext context_;
  JobRunner& runner_;
  const JobQueueOptions options_;
  std::atomic<bool> stopping_ = false;
  std::atomic<bool> draining_ = false;
  absl::Mutex mutex_;
  uint64_t changes_ ABSL_GUARDED_BY(mutex_) = 0;
  // By job id.
  std::map<std::string, std::shared_ptr<Wakeup>> running_ ABSL_GUARDED_BY(mutex_);
  // Hashes of running jobs' requests.
  std::map<std::string, int> in_flight_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::thread> threads_;
};

}  // namespace plait
