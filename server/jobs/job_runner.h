#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "base/clock.h"
#include "server/jobs/job_conversation.h"
#include "server/jobs/job_spec.h"
#include "server/jobs/search_park.h"
#include "server/telemetry/metrics.h"
#include "server/workers/runtimes.h"
#include "server/workers/worker_pool.h"
#include "storage/stores.h"

namespace plait {

// Map of this folder, from the outside in:
//   job_queue             takes jobs from the store and gives each a thread
//   job_runner            one job from its lease to its end: this header
//   job_spec              what the job asks for, read and checked once
//   job_conversation      the talk between the child, the workers and the store
//   search_child_process  the child as a process: frames, limits, evidence of its death
//   job_artifacts         the child's output as blobs that the tenant may read
//   job_weights           the child's table of weights as a blob that workers may read
//   job_models            the child's rewritten models, with inputs, as blobs for runtimes
//   search_park, wakeup   children that stand still while others are timed; a waker for poll()
// Decisions about a job's state are the store's (storage/job_operations); this folder only reports
// what happened. The child is trusted in nothing, workers in what proto/wire has checked.

// How jobs are run; the same for all of them.
struct JobRunnerOptions {
  std::string data_directory;  // where a child's output is written, in a file without a name
  std::string engine_version;  // with task_time_max, part of the result cache's key
  // The limit of processor time is budget and grace times all cores: a search that is still running
  // then spins.
  // Its program and its limits. That of processor time is set by the job; so is that of memory
  // where it is 0.
  SearchChildOptions child;
  int search_threads = 0;  // of one search; 0: all
  // What a job may take beyond its budget, for profiling the baseline and verifying.
  absl::Duration grace = absl::Minutes(10);
  // What one task may hold a worker for.
  absl::Duration task_time_max = absl::Minutes(10);
  // How long a daemon may be silent until another one takes the job; extended all the while.
  // A minute holds four heartbeats, of which three may fail.
  absl::Duration lease = absl::Minutes(1);
};

// What a runner works with; all of it must outlive it.
// Each is thread-safe and is used by all runners at the same time.
struct JobRunnerContext {
  Stores& stores;
  WorkerPool& pool;
  SearchPark& park;
  Metrics& metrics;
  Clock& clock;
  Runtimes* runtimes = nullptr;  // of this machine; null: there are none
};

// Takes one leased job to its end, which is one of these:
//   - a known result of an equal request: SUCCEEDED at once;
//   - a search child's result, whose bytes are stored before the job is final: SUCCEEDED;
//   - an error that the child reports, or its limits: FAILED; the deadline: FAILED with the
//   incumbent;
//   - the client's wish: CANCELLED;
//   - a child that crashed or broke the protocol: a fault; queued again, QUARANTINED after three;
//   - a task that no worker lived through or could leave: likewise, QUARANTINED after two;
//   - the daemon stops: queued again, counted for nobody;
//   - the storage fails or no child can be started: postponed, FAILED after kPostponementsMax.
// Every end is one transaction of the store, which refuses it when the lease is lost. Thread-safe.
//
// What "never lost" rests on here: bytes are stored before the transaction that names them, the
// lease's attempt fences every write, and every way out of RunJob ends in the store or leaves the
// job RUNNING until its lease runs out, see JobQueue::RecoverStrandedJobs.
class JobRunner {
 public:
  JobRunner(const JobRunnerContext& context, JobRunnerOptions options)
      : context_(context), options_(std::move(options)) {}

  // Returns when the job is final, queued again, or belongs to another run. REQUIRES: called by a
  // thread that lives on (see SearchChildProcess). `wakeup` is signalled when the job changes and
  // when `stopping` is set.
  // Errors are logged, not returned: after one that is not the job's, the job is postponed; where
  // that fails, too, it stays RUNNING until it is recovered.
  void RunJob(const LeasedJob& job, std::shared_ptr<Wakeup> wakeup,
              const std::atomic<bool>& stopping);

 private:
  // A job's device, and that of the worker that does its tasks: the same one, unless the first is
  // only described.
  struct JobDevices {
    v1::Device named;
    v1::Device working;
  };

  // Each returns the job as the store has it then.
  // Errors: those of the storage; Aborted (STALE_ATTEMPT) when another run of the job counts.
  // The child lives within this call: it is killed, at the latest, on the way out.
  absl::StatusOr<v1::Job> Run(const LeasedJob& job, std::shared_ptr<Wakeup> wakeup,
                              const std::atomic<bool>& stopping);
  // Whether what the job has made is still stored: above a limit of bytes it may have been deleted.
  // Finding it also keeps it for the job that is about to name it.
  absl::StatusOr<bool> HasAllBlobs(const v1::Job& job);
  // The report is a copy under the new job's id, marked as cached; nothing is measured again.
  absl::StatusOr<v1::Job> FinishFromCache(const LeasedJob& job, const v1::Job& earlier);
  // One case for each outcome; `output` is the child's file, borrowed.
  absl::StatusOr<v1::Job> Finish(const JobSpec& spec, const internal::Start& start,
                                 const ConversationEnd& end, int output);
  // A result whose output is empty or changes is a fault, counted like a crash.
  absl::StatusOr<v1::Job> FinishWithResult(const JobSpec& spec, const internal::Start& start,
                                           const internal::Result& result, int output);
  // `error` keeps its reason, by which a client tells its own mistake from ours.
  absl::StatusOr<v1::Job> FinishWithError(const LeasedJob& job, v1::JobState state,
                                          const absl::Status& error);
  // All that the child is told of its job, but for what it needs to know of measurements. It gets
  // no path and no address, but nothing besides its limits keeps it from what the daemon's user may
  // do.
  internal::Start MakeStart(const JobSpec& spec, const JobDevices& devices,
                            const std::vector<v1::Device>& runtimes) const;
  // `start` with the newest profiles of the device, or with the log that the job replays.
  // Errors: those of the storage.
  absl::StatusOr<internal::ParentMessage> FirstMessage(const JobSpec& spec,
                                                       const internal::Start& start);
  // The newest of a device. Errors: those of the storage.
  absl::StatusOr<std::vector<v1::StoredProfile>> ProfilesOf(const std::string& fingerprint);
  // What the job's result depends on, by which a later job of the tenant finds it.
  ResultKey KeyOf(const internal::Start& start, const JobSpec& spec) const;
  // Those that the job names, or all that there are. Waits until it is known which those are.
  // Errors: DEVICE_UNAVAILABLE for one that has gone since the job was submitted.
  absl::StatusOr<std::vector<v1::Device>> FindRuntimes(const v1::OptimizeOptions& options);
  // Of a connected worker, which has the threads that the job asks for if any has; nothing when
  // there is none with this id.
  std::optional<v1::Device> FindDevice(const std::string& id, const v1::OptimizeOptions& options);

  // Nothing when there is no such worker.
  std::optional<JobDevices> FindDevices(const v1::OptimizeOptions& options);

  const JobRunnerContext context_;
  const JobRunnerOptions options_;
};

}  // namespace plait
