#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "proto/wire/error.h"
#include "proto/wire/job_state.h"
#include "storage/blob_bytes.h"
#include "storage/sqlite/schema.h"
#include "storage/sqlite/sqlite.h"
#include "tests/files/source_path.h"
#include "tests/storage/store_test.h"

// first_schema.tar.gz is the data directory of a plaitd with the first schema, that of commit
// bc04218: made by its own programs, which ran a job to each final state, kept one queued, and were
// killed with -9 while they ran another.

namespace plait {
namespace {

using testing::Pair;
using testing::SizeIs;
using testing::UnorderedElementsAre;

constexpr char kTenant[] = "default";

class SqliteUpgradeTest : public testing::Test {
 protected:
  SqliteUpgradeTest() {
    const std::string command =
        absl::StrCat("tar -xzf ", SourcePath("tests/storage/sqlite/first_schema.tar.gz"), " -C ",
                     directory_.path());
    EXPECT_EQ(std::system(command.c_str()), 0);
  }

  std::string Path() const { return directory_.path() + "/data"; }

  Stores Open() {
    absl::StatusOr<Stores> stores = OpenStores("sqlite", {.directory = Path()}, clock_);
    EXPECT_TRUE(stores.ok()) << stores.status();
    return *std::move(stores);
  }

  static std::vector<v1::Job> Jobs(Stores& stores) {
    return stores.jobs->List({.tenant = kTenant, .page_size = 100})->jobs;
  }

  // State -> how many jobs are in it.
  static std::map<std::string, int> States(Stores& stores) {
    std::map<std::string, int> states;
    for (const v1::Job& job : Jobs(stores)) ++states[wire::JobStateName(job.state())];
    return states;
  }

  static v1::Job JobIn(Stores& stores, v1::JobState state) {
    for (const v1::Job& job : Jobs(stores)) {
      if (job.state() == state) return *stores.jobs->Get(kTenant, job.id());
    }
    ADD_FAILURE() << "no job is " << wire::JobStateName(state);
    return {};
  }

  TemporaryDirectory directory_;
  ManualClock clock_;
};

MATCHER(IsOneOfEach, "") {
  return testing::ExplainMatchResult(
      UnorderedElementsAre(Pair("QUEUED", 1), Pair("RUNNING", 1), Pair("SUCCEEDED", 1),
                           Pair("FAILED", 1), Pair("CANCELLED", 1), Pair("QUARANTINED", 1)),
      arg, result_listener);
}

TEST_F(SqliteUpgradeTest, KeepsJobsWithTheirAttemptsAndEvents) {
  Stores stores = Open();
  EXPECT_THAT(States(stores), IsOneOfEach());
  for (const v1::Job& job : Jobs(stores)) {
    const auto attempts = stores.jobs->Attempts(kTenant, job.id());
    ASSERT_TRUE(attempts.ok()) << attempts.status();
    EXPECT_EQ(attempts->size(), static_cast<size_t>(job.attempts())) << job.id();
    const auto events = stores.jobs->Events(kTenant, job.id(), 0, 100);
    ASSERT_TRUE(events.ok()) << events.status();
    EXPECT_FALSE(events->empty());
    for (size_t i = 0; i < events->size(); ++i) {
      EXPECT_EQ((*events)[i].sequence(), static_cast<int64_t>(i) + 1) << job.id();
    }
  }
  EXPECT_EQ(JobIn(stores, v1::JOB_STATE_QUARANTINED).faults(), 3);
}

TEST_F(SqliteUpgradeTest, KeepsWhatAJobHasMade) {
  Stores stores = Open();
  const v1::Job job = JobIn(stores, v1::JOB_STATE_SUCCEEDED);
  EXPECT_GE(job.result().report().speedup(), 1);
  for (const v1::Digest& made : {job.result().optimized_model(), job.result().plan(),
                                 job.result().report_json(), job.result().measurement_log()}) {
    const Digest digest = *wire::DigestFromProto(made);
    EXPECT_TRUE(*stores.jobs->MayReadBlob(kTenant, digest));
    const absl::StatusOr<std::string> bytes = ReadBlob(*stores.blobs, digest);
    ASSERT_TRUE(bytes.ok()) << bytes.status();
    EXPECT_EQ(DigestOf(*bytes), digest);
  }
}

TEST_F(SqliteUpgradeTest, KeepsRequestIds) {
  Stores stores = Open();
  JobSubmission submission;
  submission.job.set_id("new");
  submission.job.set_tenant(kTenant);
  submission.request_id = "succeeded-1";
  submission.request_hash = "another request's";
  EXPECT_EQ(wire::ReasonOf(stores.jobs->Submit(submission).status()),
            v1::ERROR_REASON_REQUEST_ID_REUSED);
}

TEST_F(SqliteUpgradeTest, GoesOnWithWhatWasQueuedAndWhatWasRunning) {
  Stores stores = Open();
  EXPECT_EQ(*stores.jobs->RecoverRunningJobs(), 1);
  EXPECT_EQ(stores.jobs->Count()->queued, 2);
  for (int i = 0; i < 2; ++i) {
    const auto leased = stores.jobs->Acquire({"runner", {"cpu"}, absl::Minutes(1)});
    ASSERT_TRUE(leased.ok() && leased->has_value());
    JobEnd end;
    end.state = v1::JOB_STATE_FAILED;
    end.error = wire::ErrorDetailOf(wire::Error(v1::ERROR_REASON_INTERNAL, "enough"));
    EXPECT_TRUE(stores.jobs->Finish((*leased)->lease, end).ok());
  }
}

TEST_F(SqliteUpgradeTest, DropsProfiles) {
  Stores stores = Open();
  EXPECT_TRUE(stores.profiles->List("", {"", ""}, 100)->empty());
}

// The process dies at the end of the transaction, where all has been done and nothing is promised.
TEST_F(SqliteUpgradeTest, SurvivesAKillInTheMigration) {
  const std::string begun = directory_.path() + "/begun";
  std::vector<const char*> scripts(JobSchema().begin(), JobSchema().end());
  scripts.push_back(
      "DELETE FROM events;"
      "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT max(x) FROM n;");
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    auto database = Database::Open(Path() + "/jobs.db", Durability::kFull);
    std::ofstream(begun) << "x";
    MigrateDatabase(**database, scripts).IgnoreError();
    _exit(0);
  }
  while (!std::filesystem::exists(begun)) usleep(1000);
  // Far longer than all but the last statement take, which has no end.
  usleep(200'000);
  ASSERT_EQ(kill(child, SIGKILL), 0);
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFSIGNALED(status));
  Stores stores = Open();
  EXPECT_THAT(States(stores), IsOneOfEach());
  EXPECT_THAT(*stores.jobs->Events(kTenant, JobIn(stores, v1::JOB_STATE_SUCCEEDED).id(), 0, 100),
              SizeIs(testing::Gt(2)));
}

}  // namespace
}  // namespace plait
