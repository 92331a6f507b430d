#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "base/clock.h"
#include "server/jobs/job_conversation.h"
#include "server/jobs/search_park.h"
#include "server/telemetry/metrics.h"
#include "server/workers/worker_pool.h"
#include "storage/stores.h"

namespace plait {

struct JobRunnerOptions {
  std::string data_directory;
  std::string engine_version;
  SearchChildOptions child;
  int search_threads = 0;  // of one search; 0: all
  // What a job may take beyond its budget, for profiling the baseline and verifying.
  absl::Duration grace = absl::Minutes(10);
  absl::Duration lease = absl::Minutes(1);
};

// What a runner works with; all of it must outlive it.
struct JobRunnerContext {
  Stores& stores;
  WorkerPool& pool;
  SearchPark& park;
  Metrics& metrics;
  Clock& clock;
};

// Takes one leased job to its end. Thread-safe.
class JobRunner {
 public:
  JobRunner(const JobRunnerContext& context, JobRunnerOptions options)
      : context_(context), options_(std::move(options)) {}

  // Returns when the job is final, queued again, or belongs to another run. REQUIRES: called by a
  // thread that lives on (see SearchChildProcess). `wakeup` is signalled when the job changes and
  // when `stopping` is set.
  void RunJob(const LeasedJob& job, std::shared_ptr<Wakeup> wakeup,
              const std::atomic<bool>& stopping);

 private:
  absl::StatusOr<v1::Job> Run(const LeasedJob& job, std::shared_ptr<Wakeup> wakeup,
                              const std::atomic<bool>& stopping);
  absl::StatusOr<v1::Job> FinishFromCache(const LeasedJob& job, const v1::Job& earlier);
  absl::StatusOr<v1::Job> Finish(const LeasedJob& job, const internal::Start& start,
                                 const ConversationEnd& end, int output);
  absl::StatusOr<v1::Job> FinishWithResult(const LeasedJob& job, const internal::Start& start,
                                           const internal::Result& result, int output);
  absl::StatusOr<v1::Job> FinishWithError(const LeasedJob& job, v1::JobState state,
                                          const absl::Status& error);
  absl::StatusOr<internal::Start> MakeStart(const v1::Job& job, const v1::Device& device);
  ResultKey KeyOf(const v1::Job& job, const std::string& device_fingerprint) const;
  std::optional<v1::Device> FindDevice(const std::string& id);

  const JobRunnerContext context_;
  const JobRunnerOptions options_;
};

}  // namespace plait
