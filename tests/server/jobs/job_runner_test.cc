#include "server/jobs/job_runner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "proto/wire/digest.h"
#include "proto/wire/error.h"
#include "proto/wire/report_json.h"
#include "server/jobs/job_queue.h"
#include "storage/blob_bytes.h"
#include "tests/base/manual_clock.h"
#include "tests/storage/faulty_stores.h"

namespace plait {
namespace {

using testing::HasSubstr;

class JobRunnerTest : public testing::Test {
 protected:
  JobRunnerTest() : metrics_("1", "1"), pool_(clock_, {}) {
    OpenEmptyStores();
    ConnectWorker(1);
  }

  // The device that has so many cores.
  void ConnectWorker(int cores) {
    worker::v1::SynchronizeRequest worker;
    worker.set_worker_id(absl::StrCat("w", cores));
    worker.mutable_device()->set_id("cpu");
    worker.mutable_device()->set_fingerprint(absl::StrCat("cpu-", cores));
    worker.mutable_device()->set_cores(cores);
    worker.mutable_idle();
    pool_.Synchronize(worker, WorkerPlace::kElsewhere);
  }

  void OpenEmptyStores() {
    stores_ = *OpenStores("memory", {}, clock_);
    auto blobs = std::make_unique<FaultyBlobStore>(std::move(stores_.blobs));
    auto jobs = std::make_unique<FaultyJobStore>(std::move(stores_.jobs));
    blobs_ = blobs.get();
    jobs_ = jobs.get();
    stores_.blobs = std::move(blobs);
    stores_.jobs = std::move(jobs);
    job_id_.clear();
  }

  // Nothing is left to run: the job is paused, over, or still held.
  bool IsIdle() { return !stores_.jobs->Acquire({"test", {"cpu"}, kLease})->has_value(); }

  // Submits a job whose child behaves so.
  void Submit(const std::string& how, const std::string& job_id = "job-1") {
    v1::Job job;
    job_id_ = job_id;
    job.set_id(job_id_);
    job.set_tenant("t");
    *job.mutable_model() = wire::DigestToProto(*PutBlob(*stores_.blobs, "model"));
    job.mutable_options()->set_device(device_);
    job.mutable_options()->set_search(how);
    job.mutable_options()->set_threads(threads_);
    EXPECT_TRUE(stores_.jobs->Submit({job, "", ""}).ok());
  }

  // Submits it unless there is one, and runs it once.
  v1::Job Run(const std::string& how) {
    if (job_id_.empty()) Submit(how);
    return RunOnce();
  }

  v1::Job RunOnce() {
    const auto leased = *stores_.jobs->Acquire({"test", {device_}, kLease});
    if (!leased.has_value()) {
      ADD_FAILURE() << "there is no job to run";
      return {};
    }
    JobRunner runner = MakeRunner();
    runner.RunJob(*leased, wakeup_, stopping_);
    return *stores_.jobs->Get("t", job_id_);
  }

  JobRunner MakeRunner() {
    JobRunnerOptions options;
    options.data_directory = testing::TempDir();
    options.engine_version = "e";
    options.child.program = program_;
    options.child.limits.memory_bytes_max = child_memory_bytes_;
    options.search_threads = search_threads_;
    options.task_time_max = task_time_max_;
    options.grace = grace_;
    return JobRunner({stores_, pool_, park_, metrics_, clock_}, options);
  }

  static constexpr absl::Duration kLease = absl::Minutes(1);

  ManualClock clock_;
  Stores stores_;
  FaultyBlobStore* blobs_ = nullptr;  // in stores_
  FaultyJobStore* jobs_ = nullptr;    // in stores_
  std::string program_ = PLAIT_FAKE_SEARCH_CHILD;
  std::string device_ = "cpu";  // of jobs
  int threads_ = 0;             // of jobs
  int64_t child_memory_bytes_ = 0;
  int search_threads_ = 0;
  absl::Duration task_time_max_ = absl::Minutes(10);
  absl::Duration grace_ = absl::Minutes(10);
  Metrics metrics_;
  SearchPark park_{clock_};
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

TEST_F(JobRunnerTest, StoresTheReportOfEachJobAsItIs) {
  const v1::Job searched = Run("succeed");
  Submit("succeed", "job-2");
  const v1::Job cached = RunOnce();
  ASSERT_TRUE(cached.result().report().cached());
  for (const v1::Job& job : {searched, cached}) {
    const Digest digest = *wire::DigestFromProto(job.result().report_json());
    EXPECT_TRUE(*stores_.jobs->MayReadBlob("t", digest));
    EXPECT_EQ(*ReadBlob(*stores_.blobs, digest),
              wire::JsonText(wire::ReportJson(job.result().report(), true)));
  }
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
    OpenEmptyStores();
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

TEST_F(JobRunnerTest, SaysHowLongATaskMayTake) {
  EXPECT_EQ(Run("tell_task_time").error().message(), "600");
}

TEST_F(JobRunnerTest, RunsWhereThereAreAsManyThreadsAsTheJobAsksFor) {
  ConnectWorker(4);
  EXPECT_EQ(Run("tell_cores").error().message(), "1");
  threads_ = 3;
  Submit("tell_cores", "job-2");
  EXPECT_EQ(RunOnce().error().message(), "4");
}

// Otherwise no job of the device could ever run again.
TEST_F(JobRunnerTest, RunsJobsOfADeviceWithMoreProfilesThanFitIntoAMessage) {
  v1::StoredProfile profile;
  profile.set_device_fingerprint("cpu-1");
  profile.mutable_profile()->set_samples(1);
  constexpr int64_t kProfiles = (int64_t{257} << 20) / kProfileKeyBytesMax;
  for (int number = 0; number < kProfiles; ++number) {
    profile.set_key(absl::StrCat(number, std::string(kProfileKeyBytesMax - 10, 'k')));
    ASSERT_TRUE(stores_.profiles->Put({profile}).ok());
  }
  int told = 0;
  ASSERT_TRUE(absl::SimpleAtoi(Run("tell_profiles").error().message(), &told));
  EXPECT_GT(told, kProfiles / 3);
  EXPECT_LT(told, kProfiles);
}

TEST_F(JobRunnerTest, LimitsTheMemoryOfASearchByItsModelAndThreads) {
  search_threads_ = 3;
  const std::string limits = Run("tell_limits").error().message();
  const int64_t model_bytes = stores_.jobs->Get("t", job_id_)->model().size_bytes();
  const int64_t expected = 4 * model_bytes + (int64_t{2} << 30) + 3 * (int64_t{128} << 20);
  EXPECT_THAT(limits, testing::StartsWith(absl::StrCat(expected, ",")));
}

TEST_F(JobRunnerTest, TheOperatorsLimitOfMemoryCountsInstead) {
  child_memory_bytes_ = 12345678;
  EXPECT_THAT(Run("tell_limits").error().message(), testing::StartsWith("12345678,"));
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
  EXPECT_FALSE(IsIdle());
}

TEST_F(JobRunnerTest, AnswersAnEqualRequestFromAResultThatIsStillThere) {
  const v1::Job first = Run("succeed");
  ASSERT_EQ(first.state(), v1::JOB_STATE_SUCCEEDED);
  Submit("succeed", "job-2");
  EXPECT_TRUE(RunOnce().result().report().cached());
  // What was too long for a task then need not be now.
  task_time_max_ = absl::Minutes(20);
  Submit("succeed", "job-4");
  EXPECT_FALSE(RunOnce().result().report().cached());
  task_time_max_ = absl::Minutes(10);
  // Above a limit of bytes, blobs of jobs that are over may go.
  ASSERT_TRUE(*stores_.blobs->DeleteUnused(*wire::DigestFromProto(first.result().plan()),
                                           absl::InfiniteFuture()));
  Submit("succeed", "job-3");
  const v1::Job again = RunOnce();
  EXPECT_EQ(again.state(), v1::JOB_STATE_SUCCEEDED);
  EXPECT_FALSE(again.result().report().cached());
}

// Where nothing is measured the times that were imported decide what the result is.
TEST_F(JobRunnerTest, TakesNoResultOfOtherRecordedTimes) {
  device_ = "model:h200";
  EXPECT_FALSE(Run("succeed").result().report().cached());
  Submit("succeed", "job-2");
  EXPECT_TRUE(RunOnce().result().report().cached());
  v1::StoredProfile recorded;
  recorded.set_device_fingerprint("model;_h200");
  recorded.set_key("a kernel");
  recorded.mutable_profile()->set_latency_us_median(5.5);
  recorded.mutable_profile()->set_samples(1);
  ASSERT_EQ(*stores_.profiles->Put({recorded}), 1);
  Submit("succeed", "job-3");
  EXPECT_FALSE(RunOnce().result().report().cached());
  Submit("succeed", "job-4");
  EXPECT_TRUE(RunOnce().result().report().cached());
  recorded.mutable_profile()->set_latency_us_median(5.25);
  recorded.mutable_profile()->set_samples(2);
  ASSERT_EQ(*stores_.profiles->Put({recorded}), 1);
  Submit("succeed", "job-5");
  EXPECT_FALSE(RunOnce().result().report().cached());
}

const absl::Status kDiskFull = wire::WithReason(absl::ResourceExhaustedError("the disk is full"),
                                                v1::ERROR_REASON_STORAGE_UNAVAILABLE);
constexpr int kAlways = 1000;

TEST_F(JobRunnerTest, RunsAJobAgainAfterAPauseWhenItsResultCouldNotBeStored) {
  Submit("succeed");
  blobs_->finish = {kDiskFull, 1};
  const v1::Job job = RunOnce();
  EXPECT_EQ(job.state(), v1::JOB_STATE_QUEUED);
  EXPECT_EQ(job.faults(), 0);
  EXPECT_TRUE(IsIdle());
  clock_.Advance(absl::Seconds(1));
  EXPECT_EQ(RunOnce().state(), v1::JOB_STATE_SUCCEEDED);
}

TEST_F(JobRunnerTest, RunsAJobAgainWhoseIncumbentCouldNotBeStored) {
  grace_ = -absl::Minutes(10) - absl::Seconds(1);  // the default budget, and a second
  Submit("end_at_the_deadline");
  blobs_->finish = {kDiskFull, 1};
  EXPECT_EQ(RunOnce().state(), v1::JOB_STATE_QUEUED);
  clock_.Advance(absl::Seconds(1));
  const v1::Job job = RunOnce();
  EXPECT_EQ(job.state(), v1::JOB_STATE_FAILED);
  EXPECT_TRUE(job.has_incumbent());
}

// The child writes its result to the daemon's disk before the daemon stores it.
TEST_F(JobRunnerTest, RunsAJobAgainWhoseChildMetAFullDisk) {
  Submit("disk_full");
  const v1::Job job = RunOnce();
  EXPECT_EQ(job.state(), v1::JOB_STATE_QUEUED);
  EXPECT_EQ(job.faults(), 0);
  EXPECT_TRUE(IsIdle());
}

// A full disk is not the child's fault, of which a job may have two.
TEST_F(JobRunnerTest, PostponesAJobWhoseTableOfWeightsCannotBeStored) {
  Submit("write_weights_twice");
  blobs_->finish = {kDiskFull, 1};
  const v1::Job job = RunOnce();
  EXPECT_EQ(job.state(), v1::JOB_STATE_QUEUED);
  EXPECT_EQ(job.faults(), 0);
  EXPECT_TRUE(IsIdle());
}

TEST_F(JobRunnerTest, PausesLongerEachTimeAndFailsInTheEnd) {
  Submit("succeed");
  blobs_->finish = {kDiskFull, kAlways};
  for (const int pause : {1, 2, 4, 8, 16, 32, 60, 60, 60, 60, 60, 60, 60, 60, 60, 60, 60, 60, 60}) {
    ASSERT_EQ(RunOnce().state(), v1::JOB_STATE_QUEUED);
    clock_.Advance(absl::Seconds(pause) - absl::Milliseconds(1));
    ASSERT_TRUE(IsIdle()) << pause;
    clock_.Advance(absl::Milliseconds(1));
  }
  const v1::Job job = RunOnce();
  EXPECT_EQ(job.state(), v1::JOB_STATE_FAILED);
  EXPECT_EQ(job.error().reason(), v1::ERROR_REASON_STORAGE_UNAVAILABLE);
  EXPECT_THAT(job.error().message(), HasSubstr("the disk is full"));
  EXPECT_EQ(job.attempts(), kPostponementsMax);
}

TEST_F(JobRunnerTest, BlamesItselfWhenNoChildCanBeStarted) {
  Submit("succeed");
  program_ = "/absent";
  for (int run = 1; run < kPostponementsMax; ++run) {
    ASSERT_EQ(RunOnce().state(), v1::JOB_STATE_QUEUED);
    clock_.Advance(absl::Minutes(1));
  }
  const v1::Job job = RunOnce();
  EXPECT_EQ(job.state(), v1::JOB_STATE_FAILED);
  EXPECT_EQ(job.error().reason(), v1::ERROR_REASON_INTERNAL);
  EXPECT_EQ(job.faults(), 0);
}

TEST_F(JobRunnerTest, TriesAgainWhenTheEndOfTheJobCouldNotBeStored) {
  Submit("succeed");
  jobs_->finish = {kDiskFull, 1};
  EXPECT_EQ(RunOnce().state(), v1::JOB_STATE_QUEUED);
  clock_.Advance(absl::Seconds(1));
  EXPECT_EQ(RunOnce().state(), v1::JOB_STATE_SUCCEEDED);
}

TEST_F(JobRunnerTest, RecoversAJobWhenNothingAboutItsEndCouldBeStored) {
  Submit("succeed");
  jobs_->finish = {kDiskFull, 1};
  jobs_->release = {kDiskFull, 1};
  jobs_->postpone = {kDiskFull, 1};
  EXPECT_EQ(RunOnce().state(), v1::JOB_STATE_RUNNING);
  JobRunner runner = MakeRunner();
  JobQueue queue({stores_, pool_, park_, metrics_, clock_}, runner, {});
  queue.RecoverStrandedJobs();
  EXPECT_EQ(stores_.jobs->Get("t", job_id_)->state(), v1::JOB_STATE_RUNNING);
  clock_.Advance(kLease);
  queue.RecoverStrandedJobs();
  EXPECT_EQ(stores_.jobs->Get("t", job_id_)->state(), v1::JOB_STATE_QUEUED);
  clock_.Advance(absl::Seconds(1));
  EXPECT_EQ(RunOnce().state(), v1::JOB_STATE_SUCCEEDED);
}

TEST_F(JobRunnerTest, CountsAnOutputThatChangesWhileItIsStoredAsAFault) {
  Submit("succeed");
  blobs_->finish = {wire::Error(v1::ERROR_REASON_BLOB_CORRUPT, "other bytes"), 1};
  const v1::Job job = RunOnce();
  EXPECT_EQ(job.state(), v1::JOB_STATE_QUEUED);
  EXPECT_EQ(job.faults(), 1);
}

}  // namespace
}  // namespace plait
