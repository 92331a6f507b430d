#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "storage/job_table.h"

// What happens to a job's rows in one transaction; TableJobStore wraps each into one. A row that is
// passed in is updated in memory and in the table, its attempt and its event with it, so that the
// three never disagree. `now` is the moment that they are stamped with. Each function also has the
// storage's errors; after any error the caller has to roll back.
namespace plait {

// The tenant's job. A job of another tenant looks as if it were not there: its id tells nothing.
// Errors: NotFound.
absl::StatusOr<JobRow> FindOfTenant(JobTable& table, absl::string_view tenant,
                                    absl::string_view job_id);

// The row of the running job whose present run is the lease's.
// Errors: NotFound; Aborted (STALE_ATTEMPT) when that run is over.
absl::StatusOr<JobRow> FindLeased(JobTable& table, const JobLease& lease);

// The job that the same request made before, if any.
// Errors: see JobStore::FindSubmitted.
absl::StatusOr<std::optional<v1::Job>> FindSubmitted(JobTable& table,
                                                     const JobSubmission& submission);

// What became of a submission.
struct SubmittedJob {
  v1::Job job;
  bool inserted = false;  // false: the same request had made it before
};

// A new job in QUEUED, or the one that the same request id made before.
// Errors: see JobStore::Submit.
absl::StatusOr<SubmittedJob> SubmitJob(JobTable& table, const JobSubmission& submission,
                                       int64_t queued_jobs_max, absl::Time now);

// QUEUED to RUNNING, with a new attempt, whose number is the fencing epoch, and a lease.
// Errors: FailedPrecondition (WRONG_STATE) for a job that is not queued.
absl::Status BeginRun(JobTable& table, JobRow& row, const JobWish& wish, absl::Time now);

// RUNNING back to QUEUED, or to CANCELLED when the client does not want it any more. `outcome` is
// the attempt's.
absl::Status Requeue(JobTable& table, JobRow& row, absl::string_view outcome, absl::Time now);

// RUNNING to QUEUED, FAILED or CANCELLED; see JobStore::Postpone.
absl::Status PostponeRun(JobTable& table, JobRow& row, const v1::ErrorDetail& error,
                         absl::Time now);

// RUNNING to the state of `end`; see JobStore::Finish.
absl::Status FinishRun(JobTable& table, JobRow& row, const JobEnd& end, absl::Time now);

// RUNNING to QUEUED, QUARANTINED or CANCELLED; see JobStore::ReportFault.
absl::Status CountFault(JobTable& table, JobRow& row, const JobFault& fault, absl::Time now);

// See JobStore::Cancel.
absl::Status CancelJob(JobTable& table, JobRow& row, absl::Time now);

// See JobStore::Delete.
absl::Status DeleteEndedJob(JobTable& table, const JobRow& row);

// See JobStore::AppendEvent. An event of an old run is dropped without an error.
absl::Status RecordEvent(JobTable& table, const JobLease& lease, const v1::Event& event,
                         absl::Time now);

// The blobs of the job's result and incumbent, which its tenant may read.
std::vector<v1::Digest> BlobsMadeBy(const v1::Job& job);

// These and the blobs that it was submitted with: what garbage collection keeps.
std::vector<v1::Digest> BlobsNamedBy(const v1::Job& job);

}  // namespace plait
