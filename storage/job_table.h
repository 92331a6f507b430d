#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/limits.h"
#include "storage/job_store.h"

namespace plait {

// A job as a row. The message is the truth; tables may keep columns of it to search by.
//
// A row is read, changed in memory and written back in one transaction, so no change is lost.
struct JobRow {
  int64_t number = 0;  // rises with each job; assigned by InsertJob
  v1::Job job;
  std::string worker_id;  // who runs it; empty when nobody does
  absl::Time lease_expires = absl::InfinitePast();
  absl::Time not_before = absl::InfinitePast();  // of a queued job: when its pause ends
  int postponements = 0;                         // see JobStore::Postpone
  // Jobs with the same one are answered by one result; empty for a job that wants no earlier one.
  std::string equal_key;
  int64_t event_count = 0;  // sequence of its last event
};

// Which rows to read. Empty or zero fields do not restrict.
// Conditions are joined by "and".
struct JobSelection {
  std::string tenant;
  v1::JobState state = v1::JOB_STATE_UNSPECIFIED;
  int64_t before = 0;  // only smaller numbers
  int count_max = 0;   // 0: all
};

// Which queued job may run now.
struct QueuedSelection {
  std::vector<std::string> devices;  // empty: any
  absl::Time now;
  std::string after_tenant;  // whose turn it was last
};

// When the job ended; in 1970 while it has not.
inline absl::Time EndOf(const v1::Job& job) {
  return absl::FromUnixSeconds(job.end_time().seconds()) +
         absl::Nanoseconds(job.end_time().nanos());
}

// Whether a pause that lasts until `not_before` is over. One that seems to last longer than any was
// made before the clock was set back.
inline bool IsPauseOver(absl::Time not_before, absl::Time now) {
  return not_before <= now || not_before > now + absl::Seconds(kPauseSecondsMax);
}

// Which job a request id made, so that a repeated request finds it.
struct RequestRow {
  std::string tenant;
  std::string request_id;
  std::string request_hash;
  std::string job_id;
};

// Rows of one open transaction: what a storage backend implements; what the rows mean is
// TableJobStore's business. Used by one thread.
// Errors: those of the storage.
class JobTable {
 public:
  virtual ~JobTable() = default;

  // Returns the number that the row got; row.number is not read.
  // Errors: AlreadyExists when the job's id is taken.
  virtual absl::StatusOr<int64_t> InsertJob(const JobRow& row) = 0;
  // REQUIRES: row.number is that of a job that was inserted.
  // The last event's sequence and the message are written together: they cannot disagree.
  virtual absl::Status UpdateJob(const JobRow& row) = 0;
  virtual absl::StatusOr<std::optional<JobRow>> FindJob(absl::string_view job_id) = 0;
  // Newest first.
  virtual absl::StatusOr<std::vector<JobRow>> SelectJobs(const JobSelection& selection) = 0;
  // The oldest one that fits of the next tenant: that whose name follows `after_tenant`, or the
  // first one where none does. A job does not fit while a job with its `equal_key` runs.
  virtual absl::StatusOr<std::optional<JobRow>> FindQueued(const QueuedSelection& selection) = 0;
  virtual absl::StatusOr<int64_t> CountJobs(v1::JobState state) = 0;
  // Ids of jobs that ended before `before`, the earliest first, at most `count_max`.
  virtual absl::StatusOr<std::vector<std::string>> SelectEnded(absl::Time before,
                                                               int count_max) = 0;
  // Removes the job with its attempts, events, requests and results. Its number is not used again.
  virtual absl::Status DeleteJob(const JobRow& row) = 0;

  // REQUIRES: there is no row of this tenant and request id; FindRequest tells, in the same
  // transaction.
  virtual absl::Status InsertRequest(const RequestRow& row) = 0;
  virtual absl::StatusOr<std::optional<RequestRow>> FindRequest(absl::string_view tenant,
                                                                absl::string_view request_id) = 0;

  // Replaces the attempt of that number. They are selected in order of their numbers.
  virtual absl::Status PutAttempt(const v1::Job& job, const v1::Attempt& attempt) = 0;
  virtual absl::StatusOr<std::vector<v1::Attempt>> SelectAttempts(absl::string_view job_id) = 0;

  // The event names its job, tenant and sequence. Events are selected in order of their sequence.
  virtual absl::Status InsertEvent(const v1::Event& event) = 0;
  virtual absl::StatusOr<std::vector<v1::Event>> SelectEvents(absl::string_view job_id,
                                                              int64_t after_sequence,
                                                              int count_max) = 0;

  // Replaces what the key gave before.
  virtual absl::Status PutResult(const ResultKey& key, absl::string_view job_id) = 0;
  virtual absl::StatusOr<std::optional<std::string>> FindResult(const ResultKey& key) = 0;

  // Granting twice is no error; the later time counts.
  virtual absl::Status GrantBlob(absl::string_view tenant, absl::string_view digest,
                                 absl::Time granted_at) = 0;
  // Of all tenants.
  virtual absl::Status DropGrants(absl::string_view digest, absl::Time granted_before) = 0;
  virtual absl::StatusOr<bool> MayReadBlob(absl::string_view tenant, absl::string_view digest) = 0;
};

// What a transaction does; runs before the call that takes it returns.
using JobOperation = absl::FunctionRef<absl::Status(JobTable&)>;

// Runs operations in transactions. Thread-safe.
class JobTransactor {
 public:
  virtual ~JobTransactor() = default;

  // Runs `operation` alone among writers; all of its changes are durable when this returns OK, and
  // none of them has happened otherwise.
  //
  // "Never lost" rests on this promise: an answer is given only after it. A backend may put several
  // operations into one commit, but never runs one twice. Errors: the operation's; the storage's.
  virtual absl::Status Write(JobOperation operation) = 0;

  // Runs `operation` before the next Write that begins later, or a moment from now; it replaces a
  // waiting one with the same key unless the key is empty. `committed` is called afterwards.
  // Errors: those of earlier delayed operations.
  virtual absl::Status WriteSoon(absl::string_view key,
                                 std::function<absl::Status(JobTable&)> operation,
                                 std::function<void()> committed) = 0;

  // Waits for the delayed operations.
  // Errors: theirs.
  virtual absl::Status Flush() = 0;

  // Runs `operation`, which changes nothing, on the rows committed so far.
  // A moment's view that no Write changes while `operation` runs.
  virtual absl::Status Read(JobOperation operation) = 0;
};

}  // namespace plait
