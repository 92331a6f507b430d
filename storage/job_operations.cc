#include "storage/job_operations.h"

#include <algorithm>
#include <utility>

#include <google/protobuf/timestamp.pb.h>

#include "absl/strings/str_cat.h"
#include "base/limits.h"
#include "base/status_macros.h"
#include "proto/wire/digest.h"
#include "proto/wire/error.h"
#include "proto/wire/job_state.h"
#include "proto/wire/options.h"
#include "storage/job_state.h"

namespace plait {
namespace {

google::protobuf::Timestamp ToTimestamp(absl::Time time) {
  google::protobuf::Timestamp timestamp;
  const absl::Duration since_epoch = time - absl::UnixEpoch();
  const int64_t seconds = absl::ToInt64Seconds(since_epoch);
  timestamp.set_seconds(seconds);
  timestamp.set_nanos(
      static_cast<int32_t>(absl::ToInt64Nanoseconds(since_epoch - absl::Seconds(seconds))));
  return timestamp;
}

absl::Status NoSuchJob(absl::string_view job_id) {
  return wire::Error(v1::ERROR_REASON_NOT_FOUND, absl::StrCat("job ", job_id, ": not found"));
}

v1::EventType EventTypeOf(v1::JobState state) {
  switch (state) {
    case v1::JOB_STATE_RUNNING:
      return v1::EVENT_TYPE_STARTED;
    case v1::JOB_STATE_SUCCEEDED:
      return v1::EVENT_TYPE_SUCCEEDED;
    case v1::JOB_STATE_FAILED:
      return v1::EVENT_TYPE_FAILED;
    case v1::JOB_STATE_CANCELLED:
      return v1::EVENT_TYPE_CANCELLED;
    case v1::JOB_STATE_QUARANTINED:
      return v1::EVENT_TYPE_QUARANTINED;
    default:
      return v1::EVENT_TYPE_QUEUED;
  }
}

// Sequences count from 1 without gaps: a watcher sees by them that it missed nothing.
absl::Status AddEvent(JobTable& table, JobRow& row, v1::Event event, absl::Time now) {
  event.set_job_id(row.job.id());
  event.set_tenant(row.job.tenant());
  event.set_sequence(++row.event_count);
  *event.mutable_time() = ToTimestamp(now);
  return table.InsertEvent(event);
}

// The step from RUNNING to anything else: state, attempt, event and row in one place.
struct RunEnd {
  v1::JobState state;
  absl::string_view outcome;   // Attempt.outcome
  absl::string_view evidence;  // Attempt.evidence
};

absl::Status EndRun(JobTable& table, JobRow& row, const RunEnd& end, absl::Time now) {
  v1::Attempt attempt;
  attempt.set_number(row.job.attempts());
  attempt.set_worker_id(row.worker_id);
  *attempt.mutable_start_time() = row.job.start_time();
  *attempt.mutable_end_time() = ToTimestamp(now);
  attempt.set_outcome(end.outcome.data(), end.outcome.size());
  // Evidence is the output of a process that broke: any bytes, where proto wants text.
  attempt.set_evidence(wire::ValidUtf8(end.evidence, kEvidenceBytesMax));
  PLAIT_RETURN_IF_ERROR(table.PutAttempt(row.job, attempt));
  PLAIT_RETURN_IF_ERROR(MoveJob(row.job, end.state));
  row.worker_id.clear();
  row.lease_expires = absl::InfinitePast();
  if (wire::IsFinal(end.state)) {
    *row.job.mutable_end_time() = ToTimestamp(now);
  } else {
    // The next run starts from nothing, and must not seem to have come this far.
    row.job.clear_progress();
  }
  v1::Event event;
  event.set_type(EventTypeOf(end.state));
  event.set_text(row.job.has_error() ? row.job.error().message() : std::string(end.outcome));
  PLAIT_RETURN_IF_ERROR(AddEvent(table, row, event, now));
  return table.UpdateJob(row);
}

// An error has one form wherever it ends: in a status, a job or a client's report.
void SetError(v1::Job& job, v1::ErrorReason reason, absl::string_view message) {
  *job.mutable_error() = wire::ErrorDetailOf(wire::Error(reason, message));
}

// 1 s, 2 s, 4 s and so on up to the longest pause.
absl::Duration PauseAfter(int postponements) {
  int64_t seconds = 1;
  for (int count = 1; count < postponements && seconds < kPauseSecondsMax; ++count) seconds *= 2;
  return absl::Seconds(std::min<int64_t>(seconds, kPauseSecondsMax));
}

// QUARANTINED is no end that a run may choose: only counted faults lead there.
absl::Status CheckEnd(const JobEnd& end) {
  const bool succeeded = end.state == v1::JOB_STATE_SUCCEEDED;
  const bool failed = end.state == v1::JOB_STATE_FAILED || end.state == v1::JOB_STATE_CANCELLED;
  if (succeeded && end.result.has_value() && !end.error.has_value()) return absl::OkStatus();
  if (failed && end.error.has_value() && !end.result.has_value()) return absl::OkStatus();
  return wire::Error(v1::ERROR_REASON_WRONG_STATE,
                     absl::StrCat("a run ends as SUCCEEDED with a result, or as FAILED or "
                                  "CANCELLED with an error, not as ",
                                  wire::JobStateName(end.state)));
}

std::vector<v1::Digest> BlobsOf(const v1::JobResult& result) {
  std::vector<v1::Digest> blobs;
  for (const v1::Digest* digest : {&result.optimized_model(), &result.plan(), &result.report_json(),
                                   &result.measurement_log(), &result.report().measurement_log()}) {
    if (!digest->sha256_hex().empty()) blobs.push_back(*digest);
  }
  return blobs;
}

absl::Status GrantBlobsMadeBy(JobTable& table, const v1::Job& job, absl::Time now) {
  for (const v1::Digest& blob : BlobsMadeBy(job)) {
    PLAIT_ASSIGN_OR_RETURN(const Digest digest, wire::DigestFromProto(blob));
    PLAIT_RETURN_IF_ERROR(table.GrantBlob(job.tenant(), digest.ToString(), now));
  }
  return absl::OkStatus();
}

absl::StatusOr<v1::Job> InsertSubmitted(JobTable& table, const JobSubmission& submission,
                                        int64_t queued_jobs_max, absl::Time now) {
  PLAIT_ASSIGN_OR_RETURN(const int64_t queued, table.CountJobs(v1::JOB_STATE_QUEUED));
  if (queued >= queued_jobs_max) {
    return wire::Error(
        v1::ERROR_REASON_QUOTA_EXCEEDED,
        absl::StrCat("the queue is full (", queued_jobs_max, " jobs); try again later"));
  }
  // Field by field: states and counters that a submitter sets do not count.
  JobRow row;
  row.job.set_id(submission.job.id());
  row.job.set_tenant(submission.job.tenant());
  row.job.set_state(v1::JOB_STATE_QUEUED);
  *row.job.mutable_model() = submission.job.model();
  *row.job.mutable_options() = submission.job.options();
  *row.job.mutable_create_time() = ToTimestamp(now);
  if (!row.job.options().no_result_cache()) {
    row.equal_key = absl::StrCat(row.job.tenant(), " ", row.job.model().sha256_hex(), " ",
                                 wire::OptionsHash(row.job.options()));
  }
  PLAIT_ASSIGN_OR_RETURN(row.number, table.InsertJob(row));
  if (!submission.request_id.empty()) {
    PLAIT_RETURN_IF_ERROR(table.InsertRequest(
        {row.job.tenant(), submission.request_id, submission.request_hash, row.job.id()}));
  }
  v1::Event event;
  event.set_type(v1::EVENT_TYPE_QUEUED);
  PLAIT_RETURN_IF_ERROR(AddEvent(table, row, event, now));
  PLAIT_RETURN_IF_ERROR(table.UpdateJob(row));
  return row.job;
}

}  // namespace

absl::StatusOr<JobRow> FindOfTenant(JobTable& table, absl::string_view tenant,
                                    absl::string_view job_id) {
  PLAIT_ASSIGN_OR_RETURN(std::optional<JobRow> row, table.FindJob(job_id));
  // The same answer for both, so that ids of other tenants cannot be found by trying.
  if (!row.has_value() || row->job.tenant() != tenant) return NoSuchJob(job_id);
  return *std::move(row);
}

absl::StatusOr<JobRow> FindLeased(JobTable& table, const JobLease& lease) {
  PLAIT_ASSIGN_OR_RETURN(std::optional<JobRow> row, table.FindJob(lease.job_id));
  if (!row.has_value()) return NoSuchJob(lease.job_id);
  if (row->job.state() != v1::JOB_STATE_RUNNING || row->job.attempts() != lease.attempt) {
    return wire::Error(
        v1::ERROR_REASON_STALE_ATTEMPT,
        absl::StrCat("job ", lease.job_id, ": attempt ", lease.attempt, " is over; the job is ",
                     wire::JobStateName(row->job.state()), " in attempt ", row->job.attempts()));
  }
  return *std::move(row);
}

absl::StatusOr<std::optional<v1::Job>> FindSubmitted(JobTable& table,
                                                     const JobSubmission& submission) {
  if (submission.request_id.empty()) return std::nullopt;
  PLAIT_ASSIGN_OR_RETURN(const std::optional<RequestRow> request,
                         table.FindRequest(submission.job.tenant(), submission.request_id));
  if (!request.has_value()) return std::nullopt;
  // Answering another request with this job would be a silent mix-up.
  if (request->request_hash != submission.request_hash) {
    return wire::Error(v1::ERROR_REASON_REQUEST_ID_REUSED,
                       absl::StrCat("request_id ", submission.request_id,
                                    ": was used for another request; choose a new one"));
  }
  PLAIT_ASSIGN_OR_RETURN(const JobRow row,
                         FindOfTenant(table, submission.job.tenant(), request->job_id));
  return row.job;
}

absl::StatusOr<SubmittedJob> SubmitJob(JobTable& table, const JobSubmission& submission,
                                       int64_t queued_jobs_max, absl::Time now) {
  PLAIT_ASSIGN_OR_RETURN(std::optional<v1::Job> known, FindSubmitted(table, submission));
  if (known.has_value()) return SubmittedJob{*std::move(known), false};
  PLAIT_ASSIGN_OR_RETURN(v1::Job job, InsertSubmitted(table, submission, queued_jobs_max, now));
  return SubmittedJob{std::move(job), true};
}

absl::Status BeginRun(JobTable& table, JobRow& row, const JobWish& wish, absl::Time now) {
  // First, because it is the check: nothing was changed when it fails.
  PLAIT_RETURN_IF_ERROR(MoveJob(row.job, v1::JOB_STATE_RUNNING));
  // The new epoch: whoever still works on an earlier attempt is refused by FindLeased.
  row.job.set_attempts(row.job.attempts() + 1);
  *row.job.mutable_start_time() = ToTimestamp(now);
  row.worker_id = wish.worker_id;
  row.lease_expires = now + wish.lease;
  // Written now, so that a run whose daemon dies has left a trace.
  v1::Attempt attempt;
  attempt.set_number(row.job.attempts());
  attempt.set_worker_id(wish.worker_id);
  attempt.set_outcome("running");
  *attempt.mutable_start_time() = row.job.start_time();
  PLAIT_RETURN_IF_ERROR(table.PutAttempt(row.job, attempt));
  v1::Event event;
  event.set_type(v1::EVENT_TYPE_STARTED);
  PLAIT_RETURN_IF_ERROR(AddEvent(table, row, event, now));
  return table.UpdateJob(row);
}

absl::Status Requeue(JobTable& table, JobRow& row, absl::string_view outcome, absl::Time now) {
  if (row.job.cancel_requested()) {
    SetError(row.job, v1::ERROR_REASON_CANCELLED, "cancelled by the client");
    return EndRun(table, row, {v1::JOB_STATE_CANCELLED, outcome, ""}, now);
  }
  return EndRun(table, row, {v1::JOB_STATE_QUEUED, outcome, ""}, now);
}

absl::Status PostponeRun(JobTable& table, JobRow& row, const v1::ErrorDetail& error,
                         absl::Time now) {
  RunEnd end{v1::JOB_STATE_QUEUED, "postponed", error.message()};
  ++row.postponements;
  if (row.job.cancel_requested()) {
    end.state = v1::JOB_STATE_CANCELLED;
    SetError(row.job, v1::ERROR_REASON_CANCELLED, "cancelled by the client");
  } else if (row.postponements >= kPostponementsMax) {
    end.state = v1::JOB_STATE_FAILED;
    SetError(row.job, error.reason(),
             absl::StrCat("the server could not run the job ", row.postponements,
                          " times; the last time: ", error.message()));
  } else {
    row.not_before = now + PauseAfter(row.postponements);
  }
  return EndRun(table, row, end, now);
}

absl::Status FinishRun(JobTable& table, JobRow& row, const JobEnd& end, absl::Time now) {
  PLAIT_RETURN_IF_ERROR(CheckEnd(end));
  if (end.result.has_value()) *row.job.mutable_result() = *end.result;
  if (end.error.has_value()) *row.job.mutable_error() = *end.error;
  if (end.incumbent.has_value()) *row.job.mutable_incumbent() = *end.incumbent;
  const absl::string_view outcome = end.state == v1::JOB_STATE_SUCCEEDED ? "succeeded"
                                    : end.state == v1::JOB_STATE_FAILED  ? "failed"
                                                                         : "cancelled";
  PLAIT_RETURN_IF_ERROR(EndRun(table, row, {end.state, outcome, ""}, now));
  // In the same transaction: a job that has ended has results that its tenant can read.
  PLAIT_RETURN_IF_ERROR(GrantBlobsMadeBy(table, row.job, now));
  if (!end.cache_as.has_value() || !end.result.has_value()) return absl::OkStatus();
  return table.PutResult(*end.cache_as, row.job.id());
}

absl::Status CountFault(JobTable& table, JobRow& row, const JobFault& fault, absl::Time now) {
  absl::string_view evidence = fault.evidence;
  // The end of a dying process's output says more than its beginning.
  if (evidence.size() > static_cast<size_t>(kEvidenceBytesMax)) {
    evidence.remove_prefix(evidence.size() - kEvidenceBytesMax);
  }
  // Counted in the transaction that ends the attempt: a crash counts it once or not at all.
  row.job.set_faults(row.job.faults() + 1);
  RunEnd end{v1::JOB_STATE_QUEUED, "fault", evidence};
  if (row.job.faults() >= fault.faults_max) {
    end.state = v1::JOB_STATE_QUARANTINED;
    SetError(row.job, v1::ERROR_REASON_QUARANTINED,
             absl::StrCat(fault.what, " ", row.job.faults(), " times; the last time: ", evidence));
  } else if (row.job.cancel_requested()) {
    end.state = v1::JOB_STATE_CANCELLED;
    SetError(row.job, v1::ERROR_REASON_CANCELLED, "cancelled by the client");
  }
  return EndRun(table, row, end, now);
}

absl::Status CancelJob(JobTable& table, JobRow& row, absl::Time now) {
  if (wire::IsFinal(row.job.state())) return absl::OkStatus();
  // A running job is only marked: its holder hears of it from its next heartbeat.
  row.job.set_cancel_requested(true);
  if (row.job.state() == v1::JOB_STATE_QUEUED) {
    PLAIT_RETURN_IF_ERROR(MoveJob(row.job, v1::JOB_STATE_CANCELLED));
    SetError(row.job, v1::ERROR_REASON_CANCELLED, "cancelled by the client");
    *row.job.mutable_end_time() = ToTimestamp(now);
    v1::Event event;
    event.set_type(v1::EVENT_TYPE_CANCELLED);
    PLAIT_RETURN_IF_ERROR(AddEvent(table, row, event, now));
  }
  return table.UpdateJob(row);
}

absl::Status DeleteEndedJob(JobTable& table, const JobRow& row) {
  if (!wire::IsFinal(row.job.state())) {
    return wire::Error(v1::ERROR_REASON_WRONG_STATE,
                       absl::StrCat("job ", row.job.id(), ": is ",
                                    wire::JobStateName(row.job.state()), " (cancel it first)"));
  }
  return table.DeleteJob(row);
}

absl::Status RecordEvent(JobTable& table, const JobLease& lease, const v1::Event& event,
                         absl::Time now) {
  absl::StatusOr<JobRow> row = FindLeased(table, lease);
  // An event of a run that is over has nobody to tell; its holder hears so from Heartbeat.
  if (absl::IsAborted(row.status()) || absl::IsNotFound(row.status())) return absl::OkStatus();
  PLAIT_RETURN_IF_ERROR(row.status());
  // The events of the job's end are added elsewhere and always find room.
  if (row->event_count >= kEventsPerJobMax) return absl::OkStatus();
  v1::Progress& progress = *row->job.mutable_progress();
  const bool is_phase = event.type() == v1::EVENT_TYPE_PHASE;
  if (is_phase) progress.set_phase(event.text());
  if (is_phase || event.type() == v1::EVENT_TYPE_PROGRESS) {
    progress.set_fraction(event.fraction());
    progress.set_seconds_left(event.seconds_left());
  }
  if (event.type() == v1::EVENT_TYPE_INCUMBENT) progress.set_speedup_predicted(event.speedup());
  if (event.type() == v1::EVENT_TYPE_MEASURED) progress.set_speedup(event.speedup());
  PLAIT_RETURN_IF_ERROR(AddEvent(table, *row, event, now));
  return table.UpdateJob(*row);
}

std::vector<v1::Digest> BlobsMadeBy(const v1::Job& job) {
  std::vector<v1::Digest> blobs = BlobsOf(job.result());
  for (v1::Digest& digest : BlobsOf(job.incumbent())) blobs.push_back(std::move(digest));
  return blobs;
}

std::vector<v1::Digest> BlobsNamedBy(const v1::Job& job) {
  std::vector<v1::Digest> blobs = BlobsMadeBy(job);
  blobs.push_back(job.model());
  if (job.options().has_measurement_log()) blobs.push_back(job.options().measurement_log());
  for (const v1::InputSet& set : job.options().input_sets()) {
    for (const v1::InputValue& value : set.values()) blobs.push_back(value.blob());
  }
  return blobs;
}

}  // namespace plait
