#pragma once

#include "storage/job_table.h"
#include "storage/sqlite/sqlite.h"

namespace plait {

// The rows of jobs in a connection's open transaction: each method is one or two statements, and
// what they mean is TableJobStore's business. Tables and columns stand in schema.cc. Used by one
// thread at a time.
//
// The message of a row is the job; state, tenant and device beside it are copies to search by,
// written by the same statement, while worker, lease and count of events stand in columns only. A
// message that does not parse is damage and said as DataLoss: it is never skipped, because a
// skipped job would be a lost one.
//
// Statements are compiled once for a connection, and values are always parameters: text of a
// client's cannot become SQL.
class SqliteJobTable : public JobTable {
 public:
  // `database` must outlive the table.
  explicit SqliteJobTable(Database& database) : database_(database) {}

  // All methods: see JobTable. Errors are those of Database::Execute.

  absl::StatusOr<int64_t> InsertJob(const JobRow& row) override;
  absl::Status UpdateJob(const JobRow& row) override;
  absl::StatusOr<std::optional<JobRow>> FindJob(absl::string_view job_id) override;
  absl::StatusOr<std::vector<JobRow>> SelectJobs(const JobSelection& selection) override;
  absl::StatusOr<std::optional<JobRow>> FindQueued(const QueuedSelection& selection) override;
  absl::StatusOr<int64_t> CountJobs(v1::JobState state) override;
  absl::StatusOr<std::vector<std::string>> SelectEnded(absl::Time before, int count_max) override;
  absl::Status DeleteJob(const JobRow& row) override;
  absl::Status InsertRequest(const RequestRow& row) override;
  absl::StatusOr<std::optional<RequestRow>> FindRequest(absl::string_view tenant,
                                                        absl::string_view request_id) override;
  absl::Status PutAttempt(const v1::Job& job, const v1::Attempt& attempt) override;
  absl::StatusOr<std::vector<v1::Attempt>> SelectAttempts(absl::string_view job_id) override;
  absl::Status InsertEvent(const v1::Event& event) override;
  absl::StatusOr<std::vector<v1::Event>> SelectEvents(absl::string_view job_id,
                                                      int64_t after_sequence,
                                                      int count_max) override;
  absl::Status PutResult(const ResultKey& key, absl::string_view job_id) override;
  absl::StatusOr<std::optional<std::string>> FindResult(const ResultKey& key) override;
  absl::Status GrantBlob(absl::string_view tenant, absl::string_view digest,
                         absl::Time granted_at) override;
  absl::Status DropGrants(absl::string_view digest, absl::Time granted_before) override;
  absl::StatusOr<bool> MayReadBlob(absl::string_view tenant, absl::string_view digest) override;

 private:
  // One connection has one table: the writer's for changes, the reader's for the rest.
  Database& database_;
};

}  // namespace plait
