#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "base/digest.h"
#include "base/limits.h"
#include "plait/v1/optimization.pb.h"
#include "proto/wire/job_filter.h"

namespace plait {

// The right to work on a running job. `attempt` is the fencing epoch: each run of a job has a
// higher one, and what an older holder says is refused.
struct JobLease {
  std::string job_id;
  int attempt = 0;
};

// A job that its holder now has to work on.
struct LeasedJob {
  v1::Job job;
  JobLease lease;
};

// Who wants work, and of which kind.
struct JobWish {
  std::string worker_id;
  std::vector<std::string> devices;  // ids that can be served; empty: any
  absl::Duration lease;              // how long without a heartbeat until others may have the job
};

// A wish of a client, checked by proto/wire.
struct JobSubmission {
  v1::Job job;               // id, tenant, model and options; the store fills in the rest
  std::string request_id;    // empty: none
  std::string request_hash;  // of the request: the same id with another hash is an error
};

// Which jobs to list, newest first. Jobs that arrive between two pages appear on neither.
struct JobQuery {
  std::string tenant;                              // empty: all tenants, for operators
  v1::JobState state = v1::JOB_STATE_UNSPECIFIED;  // unspecified: any
  wire::JobFilter filter;
  int64_t before = 0;  // continue after the page whose `next_before` this is; 0: from the newest
  int page_size = 0;   // REQUIRES: positive
};

// A page of a listing. It may have fewer jobs than were asked for, or none, and not be the last
// one: a look at the store has an end also where a filter accepts little.
struct JobPage {
  std::vector<v1::Job> jobs;  // without reports
  int64_t next_before = 0;    // 0: this is the last page
};

// That a job names a blob.
struct BlobReference {
  Digest digest;
  bool job_is_over = false;  // else the job will need it
};

// What some jobs name, in no order; several may name the same blob.
struct BlobReferencePage {
  std::vector<BlobReference> references;
  int64_t next_before = 0;  // 0: there are no older jobs
};

// What a result depends on; a finished job with an equal key can be answered from. Every field
// counts: leaving one out would give a client somebody else's answer.
struct ResultKey {
  std::string tenant;
  Digest model;
  std::string device_fingerprint;
  std::string options_hash;
  std::string engine_version;
};

// How a run ended. Exactly one of result (SUCCEEDED) and error (FAILED, CANCELLED) counts.
struct JobEnd {
  v1::JobState state = v1::JOB_STATE_UNSPECIFIED;
  std::optional<v1::JobResult> result;
  std::optional<v1::ErrorDetail> error;
  std::optional<v1::JobResult> incumbent;  // the best so far of a run that was cut short
  std::optional<ResultKey> cache_as;       // remember the result under this key
};

// How many jobs are not over, of all tenants.
struct JobCounts {
  int64_t queued = 0;
  int64_t running = 0;
};

// A run of a job that ended badly, and by its own doing.
struct JobFault {
  std::string evidence;  // for the client; any text
  std::string what = "the job's process died";
  int faults_max = kAttemptsMax;  // with so many the job is QUARANTINED
};

// The durable memory of all jobs, and the only place that changes their state. When a method
// returns OK, its effect is on disk and survives kill -9 and power loss (except for AppendEvent).
// Thread-safe. Jobs of another tenant are NotFound. Every method can also fail with
// Unavailable (the storage failed), ResourceExhausted (the disk is full) or DataLoss (damaged).
class JobStore {
 public:
  virtual ~JobStore() = default;

  // Queues a job. With a request id that is known, returns the job of then and changes nothing.
  // Errors: AlreadyExists (REQUEST_ID_REUSED; or the job's id is taken), ResourceExhausted
  // (QUOTA_EXCEEDED) when the queue is full.
  virtual absl::StatusOr<v1::Job> Submit(const JobSubmission& submission) = 0;

  // The job that this request id made before; nothing when there is none, or the id is empty. Of
  // the submission's job the tenant counts only.
  // Errors: AlreadyExists (REQUEST_ID_REUSED).
  virtual absl::StatusOr<std::optional<v1::Job>> FindSubmitted(const JobSubmission& submission) = 0;

  // The job with its report, if it has one.
  // Errors: NotFound.
  virtual absl::StatusOr<v1::Job> Get(absl::string_view tenant, absl::string_view job_id) = 0;
  // Every run of the job, the first one first, with its outcome and evidence.
  // Errors: NotFound.
  virtual absl::StatusOr<std::vector<v1::Attempt>> Attempts(absl::string_view tenant,
                                                            absl::string_view job_id) = 0;

  // The next page; ask again with its `next_before` until that is 0.
  virtual absl::StatusOr<JobPage> List(const JobQuery& query) = 0;

  virtual absl::StatusOr<JobCounts> Count() = 0;

  // A queued job that fits and is not paused becomes RUNNING; nothing when there is none. Tenants
  // take turns, and of a tenant's jobs the oldest comes first. A job that can be answered with the
  // result of one that is running now stays queued until that is over.
  virtual absl::StatusOr<std::optional<LeasedJob>> Acquire(const JobWish& wish) = 0;

  // Extends the lease; true when the client wants the job to be cancelled.
  // Errors: Aborted (STALE_ATTEMPT) when the lease is not valid any more: stop that work.
  virtual absl::StatusOr<bool> Heartbeat(const JobLease& lease, absl::Duration extension) = 0;

  // Ends the job. A result that comes before a cancellation was heard of wins.
  // Errors: Aborted (STALE_ATTEMPT); FailedPrecondition when `end.state` cannot end a job.
  virtual absl::StatusOr<v1::Job> Finish(const JobLease& lease, const JobEnd& end) = 0;

  // The job's own child or task died: counted. The job is queued again, or QUARANTINED after
  // fault.faults_max of any kind, or CANCELLED when that was wanted. Keeps the end of the evidence.
  // Errors: Aborted (STALE_ATTEMPT).
  virtual absl::StatusOr<v1::Job> ReportFault(const JobLease& lease, const JobFault& fault) = 0;

  // Gives the job back through no fault of its own (the server stops): not counted.
  // Errors: Aborted (STALE_ATTEMPT).
  virtual absl::StatusOr<v1::Job> Release(const JobLease& lease) = 0;

  // The run could not go on, and neither the job nor its child is to blame: the disk is full, or no
  // process can be started. The job is queued again and not given out before a pause that doubles
  // each time, from one second to kPauseSecondsMax. After kPostponementsMax of them it is FAILED
  // with `error`, or CANCELLED when that was wanted. Errors: Aborted (STALE_ATTEMPT).
  virtual absl::StatusOr<v1::Job> Postpone(const JobLease& lease, const v1::ErrorDetail& error) = 0;

  // A queued job is CANCELLED; a running one is marked, see Heartbeat; a final one is unchanged.
  // Errors: NotFound.
  virtual absl::StatusOr<v1::Job> Cancel(absl::string_view tenant, absl::string_view job_id) = 0;

  // Removes a job that is over, with its attempts, events and request id; a result that was found
  // by its key is found no more. Its blobs stay until they are collected.
  // Errors: NotFound; FailedPrecondition (WRONG_STATE) while it is not over.
  virtual absl::Status Delete(absl::string_view tenant, absl::string_view job_id) = 0;

  // The same for jobs of all tenants that ended before `ended_before`, the earliest first, at most
  // `count_max`. Returns how many; fewer than `count_max` means that there are no more.
  virtual absl::StatusOr<int> DeleteEnded(absl::Time ended_before, int count_max) = 0;

  // Requeues all RUNNING jobs; nothing is counted. Called by the only daemon of a data directory
  // when it starts. Returns how many.
  virtual absl::StatusOr<int> RecoverRunningJobs() = 0;

  // Postpones the RUNNING jobs whose lease has run out: their holder could not even say how the run
  // ended. Leaves out those in `held`, whose runs go on although the storage took no heartbeat for
  // a while. Returns how many.
  virtual absl::StatusOr<int> RecoverExpiredJobs(absl::Span<const std::string> held) = 0;

  // Records what a run says about itself, soon and not at once: an acknowledgement never waits for
  // it, fast PROGRESS events of a job are merged, and kill -9 may lose the last ones. The store
  // sets sequence, time, job and tenant. Events of an old lease, and those past kEventsPerJobMax,
  // are dropped. May wait while kDelayedWritesMax events are pending.
  // Errors: those of the storage, also of an earlier event.
  virtual absl::Status AppendEvent(const JobLease& lease, const v1::Event& event) = 0;

  // Waits until the events appended so far are on disk.
  virtual absl::Status Flush() = 0;

  // Events with a greater sequence, in order, at most `count_max`.
  // Errors: NotFound.
  virtual absl::StatusOr<std::vector<v1::Event>> Events(absl::string_view tenant,
                                                        absl::string_view job_id,
                                                        int64_t after_sequence, int count_max) = 0;

  // The finished job with this key, or nothing.
  virtual absl::StatusOr<std::optional<v1::Job>> FindResult(const ResultKey& key) = 0;

  // A tenant may name a blob after it has uploaded it, or when a job of its own has made it.
  virtual absl::Status GrantBlob(absl::string_view tenant, const Digest& digest) = 0;
  virtual absl::StatusOr<bool> MayReadBlob(absl::string_view tenant, const Digest& digest) = 0;
  // Of a blob that was last used before then and is gone now: all grants from before that moment.
  virtual absl::Status DropGrants(const Digest& digest, absl::Time granted_before) = 0;

  // What the next jobs name, newest first, at most `jobs_max` of them; ask again with the page's
  // `next_before` until that is 0. Jobs that arrive between two pages are on neither.
  virtual absl::StatusOr<BlobReferencePage> ReferencedBlobs(int64_t before, int jobs_max) = 0;
};

// Called with a job's id after each committed change of it, on any thread, with no lock held; it
// must not block. Wakes runners and watchers.
using JobListener = std::function<void(const std::string& job_id)>;

}  // namespace plait
