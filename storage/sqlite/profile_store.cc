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
          "INSERT INTO profiles (device_fingerprint, key, samples, profile) VALUES (?, ?, ?, ?)"
          " ON CONFLICT (device_fingerprint, key) DO UPDATE"
          " SET samples = excluded.samples, profile = excluded.profile"
          " WHERE excluded.samples > samples",
          profile.device_fingerprint(), profile.key(), int64_t{profile.profile().samples()},
          profile.SerializeAsString()));
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

  absl::StatusOr<int64_t> Count() override {
    absl::MutexLock lock(&mutex_);
    PLAIT_ASSIGN_OR_RETURN(Statement statement, database_->Query("SELECT count(*) FROM profiles"));
    PLAIT_RETURN_IF_ERROR(statement.Step().status());
    return statement.Integer(0);
  }

 private:
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
