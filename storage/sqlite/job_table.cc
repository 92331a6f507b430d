#include "storage/sqlite/job_table.h"

#include <limits>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "proto/wire/error.h"

namespace plait {
namespace {

// The columns that RowOf reads, in its order.
constexpr char kRowColumns[] =
    "number, worker_id, lease_expires_us, not_before_us, postponements, event_count, equal_key, "
    "job";

// A row that does not parse is damage: what was serialized always parses.
template <typename Message>
absl::Status ParseColumn(const Database& database, const std::string& bytes, Message& message) {
  if (message.ParseFromString(bytes)) return absl::OkStatus();
  return wire::WithReason(
      absl::DataLossError(absl::StrCat("database ", database.path(),
                                       ": a row is damaged: restore it from a backup")),
      v1::ERROR_REASON_STORAGE_UNAVAILABLE);
}

// SQLite has no infinities; a lease or a pause that is none ends in 1970.
int64_t TimeColumn(absl::Time time) {
  return time == absl::InfinitePast() ? 0 : absl::ToUnixMicros(time);
}

absl::Time TimeOf(int64_t column) {
  return column == 0 ? absl::InfinitePast() : absl::FromUnixMicros(column);
}

absl::StatusOr<JobRow> RowOf(const Database& database, const Statement& statement) {
  JobRow row;
  row.number = statement.Integer(0);
  row.worker_id = statement.Text(1);
  row.lease_expires = TimeOf(statement.Integer(2));
  row.not_before = TimeOf(statement.Integer(3));
  row.postponements = static_cast<int>(statement.Integer(4));
  row.event_count = statement.Integer(5);
  row.equal_key = statement.Text(6);
  PLAIT_RETURN_IF_ERROR(ParseColumn(database, statement.Text(7), row.job));
  return row;
}

// All messages of the first column.
template <typename Message>
absl::StatusOr<std::vector<Message>> MessagesOf(const Database& database, Statement statement) {
  std::vector<Message> messages;
  while (true) {
    PLAIT_ASSIGN_OR_RETURN(const bool has_row, statement.Step());
    if (!has_row) return messages;
    PLAIT_RETURN_IF_ERROR(ParseColumn(database, statement.Text(0), messages.emplace_back()));
  }
}

}  // namespace

absl::StatusOr<int64_t> SqliteJobTable::InsertJob(const JobRow& row) {
  // Columns beside the message are copies to search by; RowOf believes the message.
  PLAIT_RETURN_IF_ERROR(database_.Execute(
      "INSERT INTO jobs (id, tenant, state, device, worker_id, lease_expires_us, not_before_us,"
      " postponements, event_count, equal_key, job) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
      row.job.id(), row.job.tenant(), int64_t{row.job.state()}, row.job.options().device(),
      row.worker_id, TimeColumn(row.lease_expires), TimeColumn(row.not_before), row.postponements,
      row.event_count, row.equal_key, row.job.SerializeAsString()));
  return database_.LastInsertedNumber();
}

// Id, tenant, device and equal_key never change, so they are not written again.
absl::Status SqliteJobTable::UpdateJob(const JobRow& row) {
  return database_.Execute(
      "UPDATE jobs SET state = ?, worker_id = ?, lease_expires_us = ?, not_before_us = ?,"
      " postponements = ?, event_count = ?, ended_us = ?, job = ? WHERE number = ?",
      int64_t{row.job.state()}, row.worker_id, TimeColumn(row.lease_expires),
      TimeColumn(row.not_before), row.postponements, row.event_count,
      absl::ToUnixMicros(EndOf(row.job)), row.job.SerializeAsString(), row.number);
}

absl::StatusOr<std::optional<JobRow>> SqliteJobTable::FindJob(absl::string_view job_id) {
  PLAIT_ASSIGN_OR_RETURN(
      Statement statement,
      database_.Query(absl::StrCat("SELECT ", kRowColumns, " FROM jobs WHERE id = ?"), job_id));
  PLAIT_ASSIGN_OR_RETURN(const bool has_row, statement.Step());
  if (!has_row) return std::nullopt;
  PLAIT_ASSIGN_OR_RETURN(JobRow row, RowOf(database_, statement));
  return row;
}

absl::StatusOr<std::vector<JobRow>> SqliteJobTable::SelectJobs(const JobSelection& selection) {
  // Only the conditions that restrict are written, so that SQLite finds the right index.
  std::string sql = absl::StrCat("SELECT ", kRowColumns, " FROM jobs WHERE number < ?1");
  absl::StrAppend(&sql, selection.tenant.empty() ? " AND ?2 = ?2" : " AND tenant = ?2");
  absl::StrAppend(
      &sql, selection.state == v1::JOB_STATE_UNSPECIFIED ? " AND ?3 = ?3" : " AND state = ?3");
  absl::StrAppend(&sql, " ORDER BY number DESC");
  // Parameters that do not restrict are compared with themselves: the number of parameters stays.
  const int64_t before =
      selection.before == 0 ? std::numeric_limits<int64_t>::max() : selection.before;
  PLAIT_ASSIGN_OR_RETURN(Statement statement,
                         database_.Query(sql, before, selection.tenant, int64_t{selection.state}));
  // Rows are parsed one by one, so that a page costs no more than itself.
  std::vector<JobRow> rows;
  while (selection.count_max == 0 || rows.size() < static_cast<size_t>(selection.count_max)) {
    PLAIT_ASSIGN_OR_RETURN(const bool has_row, statement.Step());
    if (!has_row) break;
    PLAIT_ASSIGN_OR_RETURN(JobRow row, RowOf(database_, statement));
    rows.push_back(std::move(row));
  }
  return rows;
}

absl::StatusOr<std::optional<JobRow>> SqliteJobTable::FindQueued(const QueuedSelection& selection) {
  // Tenants after the last one, then from the first one on; the index has their order.
  for (const char* tenants : {">", "<="}) {
    PLAIT_ASSIGN_OR_RETURN(
        Statement statement,
        database_.Query(
            absl::StrCat("SELECT ", kRowColumns, ", device FROM jobs AS queued WHERE state = ?",
                         " AND tenant ", tenants, " ? AND (equal_key = x'' OR NOT EXISTS",
                         " (SELECT 1 FROM jobs AS running WHERE running.state = ?",
                         " AND running.equal_key = queued.equal_key)) ORDER BY tenant, number"),
            int64_t{v1::JOB_STATE_QUEUED}, selection.after_tenant, int64_t{v1::JOB_STATE_RUNNING}));
    while (true) {
      PLAIT_ASSIGN_OR_RETURN(const bool has_row, statement.Step());
      if (!has_row) break;
      // By the columns, so that jobs that do not fit cost no parsing.
      const auto& devices = selection.devices;
      if (!devices.empty() && !absl::c_linear_search(devices, statement.Text(8))) continue;
      if (!IsPauseOver(TimeOf(statement.Integer(3)), selection.now)) continue;
      PLAIT_ASSIGN_OR_RETURN(JobRow row, RowOf(database_, statement));
      return row;
    }
  }
  return std::nullopt;
}

absl::StatusOr<int64_t> SqliteJobTable::CountJobs(v1::JobState state) {
  PLAIT_ASSIGN_OR_RETURN(
      Statement statement,
      database_.Query("SELECT count(*) FROM jobs WHERE state = ?", int64_t{state}));
  PLAIT_RETURN_IF_ERROR(statement.Step().status());
  return statement.Integer(0);
}

absl::StatusOr<std::vector<std::string>> SqliteJobTable::SelectEnded(absl::Time before,
                                                                     int count_max) {
  // The condition that ended_us is not 0 is that of the index.
  PLAIT_ASSIGN_OR_RETURN(Statement statement,
                         database_.Query("SELECT id FROM jobs WHERE ended_us <> 0 AND ended_us < ?"
                                         " ORDER BY ended_us LIMIT ?",
                                         absl::ToUnixMicros(before), count_max));
  std::vector<std::string> ids;
  while (true) {
    PLAIT_ASSIGN_OR_RETURN(const bool has_row, statement.Step());
    if (!has_row) return ids;
    ids.push_back(statement.Text(0));
  }
}

absl::Status SqliteJobTable::DeleteJob(const JobRow& row) {
  for (const char* table : {"attempts", "events", "requests", "results"}) {
    PLAIT_RETURN_IF_ERROR(
        database_.Execute(absl::StrCat("DELETE FROM ", table, " WHERE job_id = ?"), row.job.id()));
  }
  return database_.Execute("DELETE FROM jobs WHERE number = ?", row.number);
}

absl::Status SqliteJobTable::InsertRequest(const RequestRow& row) {
  return database_.Execute(
      "INSERT INTO requests (tenant, request_id, request_hash, job_id) VALUES (?, ?, ?, ?)",
      row.tenant, row.request_id, row.request_hash, row.job_id);
}

absl::StatusOr<std::optional<RequestRow>> SqliteJobTable::FindRequest(
    absl::string_view tenant, absl::string_view request_id) {
  PLAIT_ASSIGN_OR_RETURN(
      Statement statement,
      database_.Query(
          "SELECT request_hash, job_id FROM requests WHERE tenant = ? AND request_id = ?", tenant,
          request_id));
  PLAIT_ASSIGN_OR_RETURN(const bool has_row, statement.Step());
  if (!has_row) return std::nullopt;
  return RequestRow{std::string(tenant), std::string(request_id), statement.Text(0),
                    statement.Text(1)};
}

absl::Status SqliteJobTable::PutAttempt(const v1::Job& job, const v1::Attempt& attempt) {
  return database_.Execute(
      "INSERT OR REPLACE INTO attempts (job_id, number, tenant, worker_id, outcome, attempt)"
      " VALUES (?, ?, ?, ?, ?, ?)",
      job.id(), attempt.number(), job.tenant(), attempt.worker_id(), attempt.outcome(),
      attempt.SerializeAsString());
}

absl::StatusOr<std::vector<v1::Attempt>> SqliteJobTable::SelectAttempts(absl::string_view job_id) {
  PLAIT_ASSIGN_OR_RETURN(
      Statement statement,
      database_.Query("SELECT attempt FROM attempts WHERE job_id = ? ORDER BY number", job_id));
  return MessagesOf<v1::Attempt>(database_, std::move(statement));
}

absl::Status SqliteJobTable::InsertEvent(const v1::Event& event) {
  return database_.Execute(
      "INSERT INTO events (job_id, sequence, tenant, event) VALUES (?, ?, ?, ?)", event.job_id(),
      event.sequence(), event.tenant(), event.SerializeAsString());
}

absl::StatusOr<std::vector<v1::Event>> SqliteJobTable::SelectEvents(absl::string_view job_id,
                                                                    int64_t after_sequence,
                                                                    int count_max) {
  PLAIT_ASSIGN_OR_RETURN(
      Statement statement,
      database_.Query(
          "SELECT event FROM events WHERE job_id = ? AND sequence > ? ORDER BY sequence LIMIT ?",
          job_id, after_sequence, count_max));
  return MessagesOf<v1::Event>(database_, std::move(statement));
}

absl::Status SqliteJobTable::PutResult(const ResultKey& key, absl::string_view job_id) {
  return database_.Execute(
      "INSERT OR REPLACE INTO results"
      " (tenant, model, device_fingerprint, options_hash, engine_version, job_id)"
      " VALUES (?, ?, ?, ?, ?, ?)",
      key.tenant, key.model.ToString(), key.device_fingerprint, key.options_hash,
      key.engine_version, job_id);
}

absl::StatusOr<std::optional<std::string>> SqliteJobTable::FindResult(const ResultKey& key) {
  PLAIT_ASSIGN_OR_RETURN(
      Statement statement,
      database_.Query("SELECT job_id FROM results WHERE tenant = ? AND model = ? AND"
                      " device_fingerprint = ? AND options_hash = ? AND engine_version = ?",
                      key.tenant, key.model.ToString(), key.device_fingerprint, key.options_hash,
                      key.engine_version));
  PLAIT_ASSIGN_OR_RETURN(const bool has_row, statement.Step());
  if (!has_row) return std::nullopt;
  return statement.Text(0);
}

absl::Status SqliteJobTable::GrantBlob(absl::string_view tenant, absl::string_view digest,
                                       absl::Time granted_at) {
  return database_.Execute(
      "INSERT OR REPLACE INTO blob_grants (tenant, digest, granted_us) VALUES (?, ?, ?)", tenant,
      digest, absl::ToUnixMicros(granted_at));
}

absl::Status SqliteJobTable::DropGrants(absl::string_view digest, absl::Time granted_before) {
  return database_.Execute("DELETE FROM blob_grants WHERE digest = ? AND granted_us < ?", digest,
                           absl::ToUnixMicros(granted_before));
}

absl::StatusOr<bool> SqliteJobTable::MayReadBlob(absl::string_view tenant,
                                                 absl::string_view digest) {
  PLAIT_ASSIGN_OR_RETURN(
      Statement statement,
      database_.Query("SELECT 1 FROM blob_grants WHERE tenant = ? AND digest = ?", tenant, digest));
  return statement.Step();
}

}  // namespace plait
