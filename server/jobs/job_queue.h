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

  void Start();

  // Running jobs go back into the queue; returns when none runs any more.
  void Stop();

  // No more jobs are taken; running ones are finished.
  void Drain();

  // A job has changed in the store, or a worker has come.
  void Wake(const std::string& job_id);

  int64_t running();

 private:
  void Loop();
  bool RunNext();
  // Two equal jobs leased at the same moment may both pass: they measure together, at worst twice.
  void AwaitEqualJob(const LeasedJob& job, const std::string& request);
  std::vector<std::string> Devices();

  const JobRunnerContext context_;
  JobRunner& runner_;
  const JobQueueOptions options_;
  std::atomic<bool> stopping_ = false;
  std::atomic<bool> draining_ = false;
  absl::Mutex mutex_;
  uint64_t changes_ ABSL_GUARDED_BY(mutex_) = 0;
  std::map<std::string, std::shared_ptr<Wakeup>> running_ ABSL_GUARDED_BY(mutex_);
  // Hashes of running jobs' requests.
  std::map<std::string, int> in_flight_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::thread> threads_;
};

}  // namespace plait
