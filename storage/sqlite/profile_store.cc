#include "storage/sqlite/profile_store.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "base/status_macros.h"
#include "proto/wire/error.h"
#include "proto/wire/profile.h"
#include "storage/sqlite/schema.h"
#include "storage/sqlite/sqlite.h"

namespace plait {
namespace {

// A query for these columns of the profiles, with how many profiles, and how many of their bytes,
// there are from the newest up to each.
std::string Ranked(absl::string_view columns, absl::string_view where = "") {
  return absl::StrCat("SELECT ", columns, ", row_number() OVER newest AS number,",
                      " sum(length(profile)) OVER newest AS bytes FROM profiles ", where,
                      " WINDOW newest AS (ORDER BY measured_at DESC, device_fingerprint, key",
                      " ROWS UNBOUNDED PRECEDING)");
}

// The keys of a device's profiles (?1) that are beyond a limit (?2, ?3).
std::string KeysBeyondLimit() {
  return absl::StrCat("SELECT key FROM (", Ranked("key", "WHERE device_fingerprint = ?1"),
                      ") WHERE number > ?2 OR bytes > ?3");
}

// One connection under a lock: profiles are written in batches, so that sharing commits, as the
// writer of jobs does, would bring little.
class SqliteProfileStore : public ProfileStore {
 public:
  explicit SqliteProfileStore(std::unique_ptr<Database> database)
      : database_(std::move(database)) {}

  absl::StatusOr<int64_t> Put(absl::Span<const v1::StoredProfile> profiles) override {
    absl::MutexLock lock(&mutex_);
    // One transaction for the batch: all or none, and one write to the log of SQLite.
    PLAIT_ASSIGN_OR_RETURN(Transaction transaction, Transaction::Begin(*database_));
    int64_t stored = 0;
    for (const v1::StoredProfile& profile : profiles) {
      // The column has the samples that count, by which rows are compared.
      PLAIT_RETURN_IF_ERROR(database_->Execute(
          "INSERT INTO profiles (device_fingerprint, key, samples, measured_at, profile)"
          " VALUES (?, ?, ?, ?, ?) ON CONFLICT (device_fingerprint, key) DO UPDATE"
          " SET samples = excluded.samples, measured_at = excluded.measured_at,"
          " profile = excluded.profile WHERE (excluded.samples, excluded.measured_at) >"
          " (samples, measured_at) OR ?",
          profile.device_fingerprint(), profile.key(), wire::SamplesThatCount(profile.profile()),
          profile.measure_time().seconds(), profile.SerializeAsString(),
          int64_t{profile.has_load_effect()}));
      // 0 for one that is no better than ours.
      stored += database_->ChangedRows();
    }
    PLAIT_RETURN_IF_ERROR(transaction.Commit());
    return stored;
  }

  absl::StatusOr<std::vector<v1::StoredProfile>> List(absl::string_view device_fingerprint,
                                                      const ProfilePosition& after,
                                                      int64_t count_max) override {
    absl::MutexLock lock(&mutex_);
    // Row values compare like the listing's order, so paging needs no offset.
    PLAIT_ASSIGN_OR_RETURN(
        Statement statement,
        database_->Query("SELECT profile FROM profiles"
                         " WHERE (device_fingerprint, key) > (?1, ?2)"
                         " AND (length(?3) = 0 OR device_fingerprint = ?3)"
                         " ORDER BY device_fingerprint, key LIMIT ?4",
                         after.device_fingerprint, after.key, device_fingerprint, count_max));
    return ReadAll(statement);
  }

  absl::StatusOr<std::vector<v1::StoredProfile>> ListNewest(absl::string_view device_fingerprint,
                                                            const ProfileLimit& limit) override {
    absl::MutexLock lock(&mutex_);
    // Chosen by keys and lengths, so that what does not fit is never read.
    PLAIT_ASSIGN_OR_RETURN(
        Statement statement,
        database_->Query(
            absl::StrCat("SELECT profile FROM profiles WHERE device_fingerprint = ?1 AND key NOT IN"
                         " (",
                         KeysBeyondLimit(), ") ORDER BY key"),
            device_fingerprint, limit.count, limit.bytes));
    return ReadAll(statement);
  }

  absl::StatusOr<int64_t> Drop(absl::Span<const ProfilePosition> profiles) override {
    absl::MutexLock lock(&mutex_);
    PLAIT_ASSIGN_OR_RETURN(Transaction transaction, Transaction::Begin(*database_));
    int64_t dropped = 0;
    for (const auto& [fingerprint, key] : profiles) {
      PLAIT_RETURN_IF_ERROR(database_->Execute(
          "DELETE FROM profiles WHERE device_fingerprint = ? AND key = ?", fingerprint, key));
      dropped += database_->ChangedRows();
    }
    PLAIT_RETURN_IF_ERROR(transaction.Commit());
    return dropped;
  }

  absl::StatusOr<int64_t> DropOldest(const ProfileLimit& device_max,
                                     const ProfileLimit& all_max) override {
    absl::MutexLock lock(&mutex_);
    PLAIT_ASSIGN_OR_RETURN(const std::vector<std::string> devices, DevicesAbove(device_max));
    PLAIT_ASSIGN_OR_RETURN(Transaction transaction, Transaction::Begin(*database_));
    int64_t dropped = 0;
    for (const std::string& device : devices) {
      PLAIT_RETURN_IF_ERROR(database_->Execute(
          absl::StrCat("DELETE FROM profiles WHERE device_fingerprint = ?1 AND key IN (",
                       KeysBeyondLimit(), ")"),
          device, device_max.count, device_max.bytes));
      dropped += database_->ChangedRows();
    }
    PLAIT_ASSIGN_OR_RETURN(const ProfileLimit all, CountAll());
    if (all.count > all_max.count || all.bytes > all_max.bytes) {
      PLAIT_RETURN_IF_ERROR(database_->Execute(
          absl::StrCat("DELETE FROM profiles WHERE (device_fingerprint, key) IN"
                       " (SELECT device_fingerprint, key FROM (",
                       Ranked("device_fingerprint, key"), ") WHERE number > ?1 OR bytes > ?2)"),
          all_max.count, all_max.bytes));
      dropped += database_->ChangedRows();
    }
    PLAIT_RETURN_IF_ERROR(transaction.Commit());
    return dropped;
  }

  absl::StatusOr<int64_t> Count() override {
    absl::MutexLock lock(&mutex_);
    PLAIT_ASSIGN_OR_RETURN(Statement statement, database_->Query("SELECT count(*) FROM profiles"));
    PLAIT_RETURN_IF_ERROR(statement.Step().status());
    return statement.Integer(0);
  }

 private:
  // The messages in the first column of the rows that are left.
  absl::StatusOr<std::vector<v1::StoredProfile>> ReadAll(Statement& statement)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    std::vector<v1::StoredProfile> profiles;
    while (true) {
      PLAIT_ASSIGN_OR_RETURN(const bool has_row, statement.Step());
      if (!has_row) return profiles;
      if (!profiles.emplace_back().ParseFromString(statement.Text(0))) {
        return wire::WithReason(
            absl::DataLossError(absl::StrCat("database ", database_->path(),
                                             ": a profile is damaged; move the file away, "
                                             "profiles are measured again")),
            v1::ERROR_REASON_STORAGE_UNAVAILABLE);
      }
    }
  }

  // What the profiles of all devices take.
  absl::StatusOr<ProfileLimit> CountAll() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    PLAIT_ASSIGN_OR_RETURN(
        Statement statement,
        database_->Query("SELECT count(*), coalesce(sum(length(profile)), 0) FROM profiles"));
    PLAIT_RETURN_IF_ERROR(statement.Step().status());
    return ProfileLimit{statement.Integer(0), statement.Integer(1)};
  }

  // Fingerprints of the devices that have more profiles than that.
  absl::StatusOr<std::vector<std::string>> DevicesAbove(const ProfileLimit& limit)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    PLAIT_ASSIGN_OR_RETURN(
        Statement statement,
        database_->Query("SELECT device_fingerprint FROM profiles GROUP BY device_fingerprint"
                         " HAVING count(*) > ? OR sum(length(profile)) > ?",
                         limit.count, limit.bytes));
    std::vector<std::string> devices;
    while (true) {
      PLAIT_ASSIGN_OR_RETURN(const bool has_row, statement.Step());
      if (!has_row) return devices;
      devices.push_back(statement.Text(0));
    }
  }

  absl::Mutex mutex_;
  const std::unique_ptr<Database> database_ ABSL_PT_GUARDED_BY(mutex_);
};

}  // namespace

absl::StatusOr<std::unique_ptr<ProfileStore>> OpenSqliteProfileStore(const std::string& path) {
  PLAIT_ASSIGN_OR_RETURN(std::unique_ptr<Database> database,
                         Database::Open(path, Durability::kNormal));
  PLAIT_RETURN_IF_ERROR(MigrateDatabase(*database, ProfileSchema()));
  return std::unique_ptr<ProfileStore>(std::make_unique<SqliteProfileStore>(std::move(database)));
}

}  // namespace plait
