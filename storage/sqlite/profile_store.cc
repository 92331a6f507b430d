#include "storage/sqlite/profile_store.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "base/status_macros.h"
#include "proto/wire/error.h"
#include "storage/sqlite/schema.h"
#include "storage/sqlite/sqlite.h"

namespace plait {
namespace {

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
      PLAIT_RETURN_IF_ERROR(database_->Execute(
          "INSERT INTO profiles (device_fingerprint, key, samples, measured_at, profile)"
          " VALUES (?, ?, ?, ?, ?) ON CONFLICT (device_fingerprint, key) DO UPDATE"
          " SET samples = excluded.samples, measured_at = excluded.measured_at,"
          " profile = excluded.profile WHERE excluded.samples > samples OR ?",
          profile.device_fingerprint(), profile.key(), int64_t{profile.profile().samples()},
          profile.measure_time().seconds(), profile.SerializeAsString(),
          int64_t{profile.has_load_effect()}));
      // 0 for one that had no more samples than ours.
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

  absl::StatusOr<int64_t> DropOldest(int64_t device_max, int64_t all_max) override {
    absl::MutexLock lock(&mutex_);
    PLAIT_ASSIGN_OR_RETURN(const std::vector<std::string> devices, DevicesAbove(device_max));
    PLAIT_ASSIGN_OR_RETURN(Transaction transaction, Transaction::Begin(*database_));
    int64_t dropped = 0;
    for (const std::string& device : devices) {
      // A negative offset is none, so the rows after the newest ones are what goes.
      PLAIT_RETURN_IF_ERROR(database_->Execute(
          "DELETE FROM profiles WHERE device_fingerprint = ?1 AND key IN (SELECT key FROM profiles"
          " WHERE device_fingerprint = ?1 ORDER BY measured_at DESC LIMIT -1 OFFSET ?2)",
          device, device_max));
      dropped += database_->ChangedRows();
    }
    PLAIT_ASSIGN_OR_RETURN(const int64_t count, CountAll());
    if (count > all_max) {
      PLAIT_RETURN_IF_ERROR(database_->Execute(
          "DELETE FROM profiles WHERE (device_fingerprint, key) IN (SELECT device_fingerprint, key"
          " FROM profiles ORDER BY measured_at DESC LIMIT -1 OFFSET ?)",
          all_max));
      dropped += database_->ChangedRows();
    }
    PLAIT_RETURN_IF_ERROR(transaction.Commit());
    return dropped;
  }

  absl::StatusOr<int64_t> Count() override {
    absl::MutexLock lock(&mutex_);
    return CountAll();
  }

 private:
  absl::StatusOr<int64_t> CountAll() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    PLAIT_ASSIGN_OR_RETURN(Statement statement, database_->Query("SELECT count(*) FROM profiles"));
    PLAIT_RETURN_IF_ERROR(statement.Step().status());
    return statement.Integer(0);
  }

  // Fingerprints of the devices that have more profiles than that.
  absl::StatusOr<std::vector<std::string>> DevicesAbove(int64_t count_max)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    PLAIT_ASSIGN_OR_RETURN(
        Statement statement,
        database_->Query("SELECT device_fingerprint FROM profiles GROUP BY device_fingerprint"
                         " HAVING count(*) > ?",
                         count_max));
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
