#include "storage/sqlite/schema.h"

#include "absl/strings/str_cat.h"
#include "proto/wire/error.h"

namespace plait {
namespace {

// Every row names its tenant. Messages are kept whole; the columns beside them are for searching.
// Strings are bound as blobs, so that columns are BLOB and compare byte by byte.
constexpr char kJobs1[] = R"sql(
CREATE TABLE jobs (
  number INTEGER PRIMARY KEY AUTOINCREMENT,  -- order of arrival, never used twice
  id BLOB NOT NULL UNIQUE,
  tenant BLOB NOT NULL,
  state INTEGER NOT NULL,                    -- v1::JobState
  device BLOB NOT NULL,                      -- options.device
  worker_id BLOB NOT NULL,                   -- who runs it; empty: nobody
  lease_expires_us INTEGER NOT NULL,         -- since 1970; 0: not leased
  event_count INTEGER NOT NULL,              -- sequence of the last event
  job BLOB NOT NULL                          -- v1::Job
);
CREATE INDEX jobs_by_state ON jobs (state, number);
CREATE INDEX jobs_by_tenant ON jobs (tenant, number);
CREATE TABLE attempts (
  job_id BLOB NOT NULL,
  number INTEGER NOT NULL,
  tenant BLOB NOT NULL,
  worker_id BLOB NOT NULL,
  outcome BLOB NOT NULL,
  attempt BLOB NOT NULL,                     -- v1::Attempt
  PRIMARY KEY (job_id, number)
) WITHOUT ROWID;
CREATE TABLE events (
  job_id BLOB NOT NULL,
  sequence INTEGER NOT NULL,
  tenant BLOB NOT NULL,
  event BLOB NOT NULL,                       -- v1::Event
  PRIMARY KEY (job_id, sequence)
) WITHOUT ROWID;
CREATE TABLE requests (
  tenant BLOB NOT NULL,
  request_id BLOB NOT NULL,
  request_hash BLOB NOT NULL,
  job_id BLOB NOT NULL,
  PRIMARY KEY (tenant, request_id)
) WITHOUT ROWID;
CREATE TABLE results (
  tenant BLOB NOT NULL,
  model BLOB NOT NULL,                       -- digest
  device_fingerprint BLOB NOT NULL,
  options_hash BLOB NOT NULL,
  engine_version BLOB NOT NULL,
  job_id BLOB NOT NULL,
  PRIMARY KEY (tenant, model, device_fingerprint, options_hash, engine_version)
) WITHOUT ROWID;
CREATE TABLE blob_grants (
  tenant BLOB NOT NULL,
  digest BLOB NOT NULL,
  PRIMARY KEY (tenant, digest)
) WITHOUT ROWID;
)sql";

constexpr char kJobs2[] = R"sql(
ALTER TABLE jobs ADD COLUMN not_before_us INTEGER NOT NULL DEFAULT 0;  -- since 1970; 0: no pause
ALTER TABLE jobs ADD COLUMN postponements INTEGER NOT NULL DEFAULT 0;
ALTER TABLE jobs ADD COLUMN equal_key BLOB NOT NULL DEFAULT x'';        -- see JobRow
ALTER TABLE jobs ADD COLUMN ended_us INTEGER NOT NULL DEFAULT 0;       -- since 1970; 0: not over
-- The time of the end is in the message, which SQL cannot read: jobs of before end now.
UPDATE jobs SET ended_us = 1000000 * CAST(strftime('%s', 'now') AS INTEGER)
  WHERE state NOT IN (1, 2);                 -- QUEUED, RUNNING
CREATE INDEX jobs_by_turn ON jobs (state, tenant, number);
CREATE INDEX jobs_by_key ON jobs (state, equal_key);
CREATE INDEX jobs_by_end ON jobs (ended_us) WHERE ended_us <> 0;
CREATE INDEX requests_by_job ON requests (job_id);
CREATE INDEX results_by_job ON results (job_id);
)sql";

constexpr char kJobs3[] = R"sql(
ALTER TABLE blob_grants ADD COLUMN granted_us INTEGER NOT NULL DEFAULT 0;  -- since 1970
CREATE INDEX grants_by_digest ON blob_grants (digest);
)sql";

constexpr char kProfiles1[] = R"sql(
CREATE TABLE profiles (
  device_fingerprint BLOB NOT NULL,
  key BLOB NOT NULL,
  samples INTEGER NOT NULL,
  profile BLOB NOT NULL,                     -- v1::StoredProfile
  PRIMARY KEY (device_fingerprint, key)
) WITHOUT ROWID;
)sql";

// Times of before are of kernels that are described otherwise now: no key would find them.
constexpr char kProfiles2[] = R"sql(
DELETE FROM profiles;
ALTER TABLE profiles ADD COLUMN measured_at INTEGER NOT NULL DEFAULT 0;  -- seconds since 1970
)sql";

constexpr const char* kJobScripts[] = {kJobs1, kJobs2, kJobs3};
constexpr const char* kProfileScripts[] = {kProfiles1, kProfiles2};

absl::StatusOr<int64_t> SchemaVersion(Database& database) {
  PLAIT_ASSIGN_OR_RETURN(Statement statement, database.Query("PRAGMA user_version"));
  PLAIT_RETURN_IF_ERROR(statement.Step().status());
  return statement.Integer(0);
}

}  // namespace

absl::Status MigrateDatabase(Database& database, absl::Span<const char* const> scripts) {
  PLAIT_ASSIGN_OR_RETURN(int64_t version, SchemaVersion(database));
  const int64_t newest = static_cast<int64_t>(scripts.size());
  if (version < 0 || version > newest) {
    return wire::Error(
        v1::ERROR_REASON_WRONG_STATE,
        absl::StrCat("database ", database.path(), ": has schema version ", version,
                     ", and this plait knows ", newest, "; use a plait that is not older"));
  }
  if (version == newest) return absl::OkStatus();
  // One transaction for all: whatever interrupts it, the plait of before can still open the file.
  PLAIT_ASSIGN_OR_RETURN(Transaction transaction, Transaction::Begin(database));
  for (; version < newest; ++version) {
    PLAIT_RETURN_IF_ERROR(database.ExecuteScript(scripts[version]));
  }
  PLAIT_RETURN_IF_ERROR(database.ExecuteScript(absl::StrCat("PRAGMA user_version = ", newest)));
  return transaction.Commit();
}

absl::Span<const char* const> JobSchema() { return kJobScripts; }
absl::Span<const char* const> ProfileSchema() { return kProfileScripts; }

}  // namespace plait
