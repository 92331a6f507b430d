#include "server/jobs/job_runner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "proto/wire/digest.h"
#include "storage/blob_bytes.h"
#include "tests/base/manual_clock.h"

namespace plait {
namespace {

using testing::HasSubstr;

class JobRunnerTest : public testing::Test {
 protected:
  JobRunnerTest()
      : stores_(*OpenStores("memory", {}, clock_)), metrics_("1", "1"), pool_(clock_, {}) {
    worker::v1::SynchronizeRequest worker;
    worker.set_worker_id("w1");
    worker.mutable_device()->set_id("cpu");
    worker.mutable_device()->set_fingerprint("cpu-1");
    worker.mutable_idle();
    pool_.Synchronize(worker, WorkerPlace::kElsewhere);
  }

  // Submits a job whose child behaves so, and runs it once.
  v1::Job Run(const std::string& how) {
    if (job_id_.empty()) {
      v1::Job job;
      job_id_ = "job-1";
      job.set_id(job_id_);
      job.set_tenant("t");
      *job.mutable_model() = wire::DigestToProto(*PutBlob(*stores_.blobs, "model"));
      job.mutable_options()->set_device("cpu");
      job.mutable_options()->set_search(how);
      EXPECT_TRUE(stores_.jobs->Submit({job, "", ""}).ok());
    }
    const auto leased = *stores_.jobs->Acquire({"test", {"cpu"}, absl::Minutes(1)});
    EXPECT_TRUE(leased.has_value());
    JobRunnerOptions options;
    options.data_directory = testing::TempDir();
    options.engine_version = "e";
    options.child.program = PLAIT_FAKE_SEARCH_CHILD;
    JobRunner runner({stores_, pool_, park_, metrics_, clock_}, options);
    runner.RunJob(*leased, wakeup_, stopping_);
    return *stores_.jobs->Get("t", job_id_);
  }

  ManualClock clock_;
  Stores stores_;
  Metrics metrics_;
  SearchPark park_;
  WorkerPool pool_;
  std::string job_id_;
  std::atomic<bool> stopping_ = false;
  std::shared_ptr<Wakeup> wakeup_ = std::make_shared<Wakeup>();
};

TEST_F(JobRunnerTest, StoresTheResultAndBelievesNoForgedId) {
  const v1::Job job = Run("succeed");
  ASSERT_EQ(job.state(), v1::JOB_STATE_SUCCEEDED) << job.DebugString();
  EXPECT_EQ(job.result().report().id(), job.id());
  EXPECT_EQ(job.result().report().speedup(), 2);
  const absl::StatusOr<Digest> model = wire::DigestFromProto(job.result().optimized_model());
  EXPECT_EQ(*stores_.blobs->Read(*model, 0, 100), "optimized");
}

TEST_F(JobRunnerTest, QuarantinesAJobWhoseChildCrashesThreeTimes) {
  EXPECT_EQ(Run("crash").state(), v1::JOB_STATE_QUEUED);
  EXPECT_EQ(Run("crash").state(), v1::JOB_STATE_QUEUED);
  EXPECT_EQ(Run("crash").state(), v1::JOB_STATE_QUARANTINED);
  const auto attempts = *stores_.jobs->Attempts("t", job_id_);
  ASSERT_EQ(attempts.size(), 3u);
  EXPECT_THAT(attempts[2].evidence(), HasSubstr("signal 6"));
}

TEST_F(JobRunnerTest, CountsEveryLieAsAFault) {
  for (const char* lie : {"garbage", "oversize", "twice", "forged_event", "no_output"}) {
    stores_ = *OpenStores("memory", {}, clock_);
    job_id_.clear();
    const v1::Job job = Run(lie);
    EXPECT_EQ(job.state(), v1::JOB_STATE_QUEUED) << lie;
    EXPECT_EQ(job.faults(), 1) << lie;
  }
}

TEST_F(JobRunnerTest, FailsWithTheChildsReason) {
  const v1::Job job = Run("refuse");
  EXPECT_EQ(job.state(), v1::JOB_STATE_FAILED);
  EXPECT_EQ(job.error().reason(), v1::ERROR_REASON_MODEL_REJECTED);
  EXPECT_EQ(job.error().message(), "conv3: no");
}

// Whoever else needs the number takes it from Start.
TEST_F(JobRunnerTest, FillsTheDefaultBudgetIn) {
  EXPECT_EQ(Run("tell_budget").error().message(), "60");
}

TEST_F(JobRunnerTest, SaysThatTheMemoryLimitWasMet) {
  const v1::Job job = Run("memory");
  EXPECT_EQ(job.state(), v1::JOB_STATE_FAILED);
  EXPECT_EQ(job.error().reason(), v1::ERROR_REASON_LIMIT_EXCEEDED);
  EXPECT_THAT(job.error().message(), HasSubstr("memory"));
}

TEST_F(JobRunnerTest, RequeuesAJobWithoutCountingWhenTheDaemonStops) {
  stopping_ = true;
  const v1::Job job = Run("hang");
  EXPECT_EQ(job.state(), v1::JOB_STATE_QUEUED);
  EXPECT_EQ(job.faults(), 0);
}

}  // namespace
}  // namespace plait
