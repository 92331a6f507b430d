#include "storage/sqlite/schema.h"

#include <fstream>

#include "absl/strings/match.h"
#include "storage/sqlite/job_store.h"
#include "storage/sqlite/profile_store.h"
#include "tests/storage/store_test.h"

namespace plait {
namespace {

class SqliteSchemaTest : public testing::Test {
 protected:
  std::unique_ptr<Database> OpenDatabase() {
    absl::StatusOr<std::unique_ptr<Database>> database =
        Database::Open(Path(), Durability::kNormal);
    EXPECT_TRUE(database.ok()) << database.status();
    return *std::move(database);
  }
  std::string Path() const { return directory_.path() + "/test.db"; }
  // A closed database of so many jobs; returns its bytes.
  int64_t StoreJobs(int count) {
    auto store = OpenSqliteJobStore(Path(), clock_, {10'000, {}});
    EXPECT_TRUE(store.ok()) << store.status();
    JobSubmission submission;
    submission.job.set_tenant("alice");
    submission.request_hash = std::string(100, 'h');
    for (int number = 0; number < count; ++number) {
      submission.job.set_id(absl::StrCat("j", number));
      EXPECT_TRUE((*store)->Submit(submission).ok());
    }
    store->reset();
    return static_cast<int64_t>(std::filesystem::file_size(Path()));
  }
  void Damage(int64_t offset, int64_t bytes) {
    std::fstream file(Path(), std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(offset);
    file << std::string(bytes, '\xAA');
  }
  int64_t Number(Database& database, const std::string& sql) {
    absl::StatusOr<Statement> statement = database.Query(sql);
    EXPECT_TRUE(statement.ok() && *statement->Step()) << statement.status();
    return statement->Integer(0);
  }

  TemporaryDirectory directory_;
  ManualClock clock_;
};

constexpr const char* kScripts[] = {
    "CREATE TABLE a (x INTEGER); INSERT INTO a VALUES (7);",
    "ALTER TABLE a ADD COLUMN y INTEGER NOT NULL DEFAULT 5;",
};
constexpr const char* kBrokenScripts[] = {kScripts[0], "ALTER TABLE a ADD COLUMN z; nonsense;"};

TEST_F(SqliteSchemaTest, MigratesAnOldDatabaseAndKeepsItsRows) {
  const auto database = OpenDatabase();
  ASSERT_TRUE(MigrateDatabase(*database, absl::MakeSpan(kScripts).subspan(0, 1)).ok());
  EXPECT_EQ(Number(*database, "PRAGMA user_version"), 1);
  ASSERT_TRUE(MigrateDatabase(*database, kScripts).ok());
  EXPECT_EQ(Number(*database, "PRAGMA user_version"), 2);
  EXPECT_EQ(Number(*database, "SELECT x + y FROM a"), 12);
  EXPECT_TRUE(MigrateDatabase(*database, kScripts).ok());
}

TEST_F(SqliteSchemaTest, LeavesADatabaseAsItWasWhenAScriptFails) {
  const auto database = OpenDatabase();
  ASSERT_TRUE(MigrateDatabase(*database, absl::MakeSpan(kScripts).subspan(0, 1)).ok());
  EXPECT_FALSE(MigrateDatabase(*database, kBrokenScripts).ok());
  EXPECT_EQ(Number(*database, "PRAGMA user_version"), 1);
  EXPECT_EQ(Number(*database, "SELECT count(*) FROM pragma_table_info('a')"), 1);
}

// Also of several steps the first ones: the older plait can still open the file.
TEST_F(SqliteSchemaTest, LeavesADatabaseAsItWasWhenALaterScriptFails) {
  const auto database = OpenDatabase();
  EXPECT_FALSE(MigrateDatabase(*database, kBrokenScripts).ok());
  EXPECT_EQ(Number(*database, "PRAGMA user_version"), 0);
  EXPECT_EQ(Number(*database, "SELECT count(*) FROM sqlite_master"), 0);
}

TEST_F(SqliteSchemaTest, DropsTheProfilesOfAnOldDatabase) {
  {
    const auto database = OpenDatabase();
    ASSERT_TRUE(MigrateDatabase(*database, ProfileSchema().subspan(0, 1)).ok());
    ASSERT_TRUE(database->Execute("INSERT INTO profiles VALUES ('d', 'k', 1, 'old')").ok());
  }
  const auto store = OpenSqliteProfileStore(Path());
  ASSERT_TRUE(store.ok()) << store.status();
  EXPECT_TRUE((*store)->List("", {"", ""}, 10)->empty());
}

TEST_F(SqliteSchemaTest, RefusesADatabaseFromANewerPlait) {
  {
    const auto database = OpenDatabase();
    ASSERT_TRUE(database->Execute("PRAGMA user_version = 9").ok());
  }
  for (const absl::Status& status : {OpenSqliteJobStore(Path(), clock_, {10, {}}).status(),
                                     OpenSqliteProfileStore(Path()).status()}) {
    EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
    EXPECT_TRUE(absl::StrContains(status.message(), "schema version 9")) << status;
    EXPECT_TRUE(absl::StrContains(status.message(), Path())) << status;
  }
}

// Their rows do not say when they ended, so they count as ended when they were migrated.
TEST_F(SqliteSchemaTest, LetsJobsOfAnOldDatabaseEndWhenItIsMigrated) {
  {
    const auto database = OpenDatabase();
    ASSERT_TRUE(MigrateDatabase(*database, JobSchema().subspan(0, 1)).ok());
    for (const v1::JobState state : {v1::JOB_STATE_QUEUED, v1::JOB_STATE_SUCCEEDED}) {
      v1::Job job;
      job.set_id(absl::StrCat("job-", state));
      job.set_state(state);
      ASSERT_TRUE(database
                      ->Execute("INSERT INTO jobs (id, tenant, state, device, worker_id,"
                                " lease_expires_us, event_count, job)"
                                " VALUES (?, '', ?, '', '', 0, 0, ?)",
                                job.id(), int64_t{state}, job.SerializeAsString())
                      .ok());
    }
  }
  const auto store = OpenSqliteJobStore(Path(), clock_, {10, {}});
  ASSERT_TRUE(store.ok()) << store.status();
  EXPECT_EQ(*(*store)->DeleteEnded(absl::FromUnixSeconds(1'700'000'000), 10), 0);
  EXPECT_EQ(*(*store)->DeleteEnded(absl::InfiniteFuture(), 10), 1);
  EXPECT_EQ((*store)->Count()->queued, 1);
}

TEST(SqliteDatabaseTest, RefusesToGoOnWithoutAWriteAheadLog) {
  // A database in memory has none, as one on many network file systems.
  const absl::Status status = Database::Open(":memory:", Durability::kFull).status();
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  EXPECT_TRUE(absl::StrContains(status.message(), "WAL")) << status;
}

TEST_F(SqliteSchemaTest, ReportsAFileThatIsNoDatabase) {
  std::ofstream(Path()) << std::string(8192, 'x');
  const absl::Status status = OpenSqliteJobStore(Path(), clock_, {10, {}}).status();
  EXPECT_TRUE(absl::IsDataLoss(status)) << status;
  EXPECT_TRUE(absl::StrContains(status.message(), Path())) << status;
}

TEST_F(SqliteSchemaTest, ReportsDamagedPages) {
  const int64_t bytes = StoreJobs(50);
  Damage(4096, bytes - 4096);
  auto store = OpenSqliteJobStore(Path(), clock_, {10'000, {}});
  absl::Status status = store.status();
  if (store.ok()) status = (*store)->List({.tenant = "alice", .page_size = 100}).status();
  EXPECT_TRUE(absl::IsDataLoss(status)) << status;
}

// SQLite itself reads only the pages that a query needs.
TEST_F(SqliteSchemaTest, LooksAtEveryPageAfterADaemonWasKilled) {
  const int64_t bytes = StoreJobs(200);
  Damage(bytes - 4096, 4096);
  EXPECT_TRUE(OpenSqliteJobStore(Path(), clock_, {10'000, {}}).ok());
  // What a closed database does not leave behind.
  std::ofstream(Path() + "-wal") << std::string(100, '\0');
  const absl::Status status = OpenSqliteJobStore(Path(), clock_, {10'000, {}}).status();
  EXPECT_TRUE(absl::IsDataLoss(status)) << status;
  EXPECT_TRUE(absl::StrContains(status.message(), "backup")) << status;
}

}  // namespace
}  // namespace plait
