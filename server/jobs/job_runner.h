#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "base/clock.h"
#include "server/jobs/job_conversation.h"
#include "server/jobs/job_spec.h"
#include "server/jobs/search_park.h"
#include "server/telemetry/metrics.h"
#include "server/workers/worker_pool.h"
#include "storage/stores.h"

namespace plait {

// How jobs are run; the same for all of them.
struct JobRunnerOptions {
  std::string data_directory;  // where a child's output is written, in a file without a name
  std::string engine_version;  // part of the result cache's key
  SearchChildOptions child;    // its program and its limits; that of cpu time is set by the job
  int search_threads = 0;      // of one search; 0: all
  // What a job may take beyond its budget, for profiling the baseline and verifying.
  absl::Duration grace = absl::Minutes(10);
  // How long a daemon may be silent until another one takes the job; extended all the while.
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

// Takes one leased job to its end, which is one of these:
//   - a known result of an equal request: SUCCEEDED at once;
//   - a search child's result, whose bytes are stored before the job is final: SUCCEEDED;
//   - an error that the child reports, or its limits: FAILED; the deadline: FAILED with the
//   incumbent;
//   - the client's wish: CANCELLED;
//   - a child that crashed or broke the protocol: a fault; queued again, QUARANTINED after three;
//   - the daemon stops: queued again, counted for nobody.
// Every end is one transaction of the store, which refuses it when the lease is lost. Thread-safe.
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
  // Each returns the job as the store has it then.
  // Errors: those of the storage; Aborted (STALE_ATTEMPT) when another run of the job counts.
  absl::StatusOr<v1::Job> Run(const LeasedJob& job, std::shared_ptr<Wakeup> wakeup,
                              const std::atomic<bool>& stopping);
  absl::StatusOr<v1::Job> FinishFromCache(const LeasedJob& job, const v1::Job& earlier);
  absl::StatusOr<v1::Job> Finish(const JobSpec& spec, const internal::Start& start,
                                 const ConversationEnd& end, int output);
  absl::StatusOr<v1::Job> FinishWithResult(const JobSpec& spec, const internal::Start& start,
                                           const internal::Result& result, int output);
  absl::StatusOr<v1::Job> FinishWithError(const LeasedJob& job, v1::JobState state,
                                          const absl::Status& error);
  absl::StatusOr<internal::Start> MakeStart(const JobSpec& spec, const v1::Device& device);
  // What the job's result depends on, by which a later job of the tenant finds it.
  ResultKey KeyOf(const JobSpec& spec, const std::string& device_fingerprint) const;
  // Of a connected worker; nothing when there is none with this id.
  std::optional<v1::Device> FindDevice(const std::string& id);

  const JobRunnerContext context_;
  const JobRunnerOptions options_;
};

}  // namespace plait
