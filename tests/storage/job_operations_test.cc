#include "proto/wire/error.h"
#include "tests/storage/store_test.h"

namespace plait {
namespace {

using JobOperationsTest = StoreTest;
INSTANTIATE_STORE_TEST(JobOperationsTest);

std::vector<v1::EventType> TypesOf(const std::vector<v1::Event>& events) {
  std::vector<v1::EventType> types;
  for (const v1::Event& event : events) types.push_back(event.type());
  return types;
}

v1::Event EventOf(v1::EventType type, const std::string& text = "", double fraction = 0) {
  v1::Event event;
  event.set_type(type);
  event.set_text(text);
  event.set_fraction(fraction);
  return event;
}

TEST_P(JobOperationsTest, GivesOutTheOldestQueuedJob) {
  ASSERT_TRUE(jobs().Submit(Submission("j1")).ok());
  ASSERT_TRUE(jobs().Submit(Submission("j2")).ok());
  EXPECT_EQ(Acquired().lease.job_id, "j1");
  EXPECT_EQ(Acquired().lease.job_id, "j2");
  EXPECT_FALSE(jobs().Acquire({"worker-1", {}, absl::Seconds(1)})->has_value());
  EXPECT_EQ(jobs().Count()->running, 2);
}

TEST_P(JobOperationsTest, LetsTenantsTakeTurns) {
  for (int number = 0; number < 3; ++number) {
    ASSERT_TRUE(jobs().Submit(Submission(absl::StrCat("alice-", number), "alice")).ok());
  }
  ASSERT_TRUE(jobs().Submit(Submission("carol-0", "carol")).ok());
  ASSERT_TRUE(jobs().Submit(Submission("bob-0", "bob")).ok());
  ASSERT_TRUE(jobs().Submit(Submission("bob-1", "bob")).ok());
  std::vector<std::string> order;
  for (int number = 0; number < 6; ++number) order.push_back(Acquired().lease.job_id);
  EXPECT_EQ(order, (std::vector<std::string>{"alice-0", "bob-0", "carol-0", "alice-1", "bob-1",
                                             "alice-2"}));
}

TEST_P(JobOperationsTest, KeepsAJobQueuedWhileAnEqualOneRuns) {
  for (const char* id : {"j1", "j2"}) {
    JobSubmission submission = Submission(id);
    submission.job.mutable_options()->set_no_result_cache(false);
    ASSERT_TRUE(jobs().Submit(submission).ok());
  }
  ASSERT_TRUE(jobs().Submit(Submission("of another tenant", "bob")).ok());
  JobSubmission other = Submission("of another seed");
  other.job.mutable_options()->set_no_result_cache(false);
  other.job.mutable_options()->set_seed(7);
  ASSERT_TRUE(jobs().Submit(other).ok());
  const LeasedJob first = Acquired();
  EXPECT_EQ(first.lease.job_id, "j1");
  EXPECT_EQ(Acquired().lease.job_id, "of another tenant");
  EXPECT_EQ(Acquired().lease.job_id, "of another seed");
  EXPECT_FALSE(jobs().Acquire({"worker-1", {}, absl::Seconds(1)})->has_value());
  ASSERT_TRUE(jobs().Finish(first.lease, Success()).ok());
  EXPECT_EQ(Acquired().lease.job_id, "j2");
}

TEST_P(JobOperationsTest, GivesOutOnlyJobsForTheDevicesWished) {
  JobSubmission submission = Submission("gpu");
  submission.job.mutable_options()->set_device("cuda:0");
  ASSERT_TRUE(jobs().Submit(submission).ok());
  ASSERT_TRUE(jobs().Submit(Submission("cpu")).ok());
  const auto leased = jobs().Acquire({"worker-1", {"cpu", "cuda:1"}, absl::Seconds(1)});
  ASSERT_TRUE(leased.ok() && leased->has_value());
  EXPECT_EQ((*leased)->job.id(), "cpu");
  EXPECT_FALSE(jobs().Acquire({"worker-1", {"cpu"}, absl::Seconds(1)})->has_value());
}

TEST_P(JobOperationsTest, EndsInExactlyOneFinalState) {
  const LeasedJob leased = Running("j1");
  const absl::StatusOr<v1::Job> job = jobs().Finish(leased.lease, Success());
  ASSERT_TRUE(job.ok()) << job.status();
  EXPECT_EQ(job->state(), v1::JOB_STATE_SUCCEEDED);
  EXPECT_TRUE(job->has_end_time());
  const JobEnd failure = Failure(v1::JOB_STATE_FAILED, v1::ERROR_REASON_INTERNAL);
  EXPECT_TRUE(absl::IsAborted(jobs().Finish(leased.lease, failure).status()));
  EXPECT_TRUE(absl::IsAborted(jobs().ReportFault(leased.lease, {"late"}).status()));
  EXPECT_EQ(jobs().Cancel("alice", "j1")->state(), v1::JOB_STATE_SUCCEEDED);
  EXPECT_EQ(*jobs().RecoverRunningJobs(), 0);
  EXPECT_EQ(jobs().Get("alice", "j1")->SerializeAsString(), job->SerializeAsString());
  EXPECT_EQ(TypesOf(*jobs().Events("alice", "j1", 0, 100)),
            (std::vector<v1::EventType>{v1::EVENT_TYPE_QUEUED, v1::EVENT_TYPE_STARTED,
                                        v1::EVENT_TYPE_SUCCEEDED}));
}

TEST_P(JobOperationsTest, RefusesEndsWithoutTheirReason) {
  const LeasedJob leased = Running("j1");
  JobEnd end = Success();
  end.state = v1::JOB_STATE_QUEUED;
  EXPECT_TRUE(absl::IsFailedPrecondition(jobs().Finish(leased.lease, end).status()));
  EXPECT_FALSE(jobs().Finish(leased.lease, {.state = v1::JOB_STATE_FAILED}).ok());
  EXPECT_FALSE(jobs().Finish(leased.lease, {.state = v1::JOB_STATE_SUCCEEDED}).ok());
  EXPECT_EQ(jobs().Get("alice", "j1")->state(), v1::JOB_STATE_RUNNING);
}

TEST_P(JobOperationsTest, KeepsTheIncumbentOfAJobThatRanOutOfTime) {
  JobEnd end = Failure(v1::JOB_STATE_FAILED, v1::ERROR_REASON_DEADLINE);
  end.incumbent = Success().result;
  ASSERT_TRUE(jobs().Finish(Running("j1").lease, end).ok());
  const absl::StatusOr<v1::Job> job = jobs().Get("alice", "j1");
  EXPECT_EQ(job->error().reason(), v1::ERROR_REASON_DEADLINE);
  EXPECT_EQ(job->incumbent().report().speedup(), 1.25);
  EXPECT_TRUE(*jobs().MayReadBlob("alice", DigestOf("optimized")));
}

TEST_P(JobOperationsTest, RefusesTheHolderOfAnOldAttempt) {
  const LeasedJob old = Running("j1");
  ASSERT_EQ(*jobs().RecoverRunningJobs(), 1);
  const LeasedJob present = Acquired();
  EXPECT_EQ(present.lease.attempt, old.lease.attempt + 1);
  const absl::Status status = jobs().Finish(old.lease, Success()).status();
  EXPECT_TRUE(absl::IsAborted(status));
  EXPECT_EQ(wire::ReasonOf(status), v1::ERROR_REASON_STALE_ATTEMPT);
  EXPECT_TRUE(absl::IsAborted(jobs().Heartbeat(old.lease, absl::Seconds(1)).status()));
  EXPECT_TRUE(absl::IsAborted(jobs().ReportFault(old.lease, {""}).status()));
  EXPECT_TRUE(absl::IsAborted(jobs().Release(old.lease).status()));
  EXPECT_TRUE(jobs().AppendEvent(old.lease, EventOf(v1::EVENT_TYPE_PHASE, "stale")).ok());
  ASSERT_TRUE(jobs().Finish(present.lease, Success()).ok());
  const std::vector<v1::Event> events = *jobs().Events("alice", "j1", 0, 100);
  for (const v1::Event& event : events) EXPECT_NE(event.text(), "stale");
}

TEST_P(JobOperationsTest, QuarantinesAJobAfterThreeFaultsWithEvidence) {
  ASSERT_TRUE(jobs().Submit(Submission("j1")).ok());
  for (int fault = 1; fault <= 3; ++fault) {
    EXPECT_EQ(jobs().Get("alice", "j1")->state(), v1::JOB_STATE_QUEUED);
    const std::string evidence = absl::StrCat("signal 11 in attempt ", fault);
    ASSERT_TRUE(jobs().ReportFault(Acquired().lease, {evidence}).ok());
  }
  const absl::StatusOr<v1::Job> job = jobs().Get("alice", "j1");
  EXPECT_EQ(job->state(), v1::JOB_STATE_QUARANTINED);
  EXPECT_EQ(job->error().reason(), v1::ERROR_REASON_QUARANTINED);
  const absl::StatusOr<std::vector<v1::Attempt>> attempts = jobs().Attempts("alice", "j1");
  ASSERT_EQ(attempts->size(), 3u);
  EXPECT_EQ((*attempts)[1].outcome(), "fault");
  EXPECT_EQ((*attempts)[1].worker_id(), "worker-1");
  EXPECT_EQ((*attempts)[1].evidence(), "signal 11 in attempt 2");
}

TEST_P(JobOperationsTest, KeepsTheEndOfLongEvidenceAndMakesItText) {
  const std::string evidence = absl::StrCat(std::string(200'000, 'x'), "\xff the end");
  ASSERT_TRUE(jobs().ReportFault(Running("j1").lease, {evidence}).ok());
  const std::string kept = (*jobs().Attempts("alice", "j1"))[0].evidence();
  EXPECT_EQ(kept.size(), static_cast<size_t>(kEvidenceBytesMax));
  EXPECT_EQ(kept.substr(kept.size() - 9), "? the end");
}

TEST_P(JobOperationsTest, CountsTheDeathOfADaemonForNobody) {
  ASSERT_TRUE(jobs().Submit(Submission("j1")).ok());
  for (int death = 0; death < 10; ++death) {
    Acquired();
    ASSERT_EQ(*jobs().RecoverRunningJobs(), 1);
  }
  const absl::StatusOr<v1::Job> job = jobs().Get("alice", "j1");
  EXPECT_EQ(job->state(), v1::JOB_STATE_QUEUED);
  EXPECT_EQ(job->faults(), 0);
  EXPECT_EQ(job->attempts(), 10);
  EXPECT_EQ((*jobs().Attempts("alice", "j1"))[0].outcome(), "lost");
}

TEST_P(JobOperationsTest, RecoversOnlyExpiredLeases) {
  const LeasedJob early = Running("j1");
  clock_.Advance(absl::Seconds(20));
  const LeasedJob late = Running("j2");
  ASSERT_TRUE(jobs().Heartbeat(late.lease, absl::Seconds(30)).ok());
  clock_.Advance(absl::Seconds(15));
  EXPECT_EQ(*jobs().RecoverExpiredJobs({}), 1);
  EXPECT_EQ(jobs().Get("alice", "j1")->state(), v1::JOB_STATE_QUEUED);
  EXPECT_EQ(jobs().Get("alice", "j2")->state(), v1::JOB_STATE_RUNNING);
}

TEST_P(JobOperationsTest, LeavesExpiredJobsToTheirHolder) {
  Running("j1");
  clock_.Advance(absl::Hours(1));
  EXPECT_EQ(*jobs().RecoverExpiredJobs({"j1"}), 0);
  EXPECT_EQ(jobs().Get("alice", "j1")->state(), v1::JOB_STATE_RUNNING);
}

TEST_P(JobOperationsTest, PausesAPostponedJobAndLetsOthersRun) {
  const LeasedJob leased = Running("j1");
  ASSERT_TRUE(jobs().Submit(Submission("j2")).ok());
  const v1::ErrorDetail full = *Failure(v1::JOB_STATE_FAILED, v1::ERROR_REASON_INTERNAL).error;
  const absl::StatusOr<v1::Job> job = jobs().Postpone(leased.lease, full);
  ASSERT_TRUE(job.ok()) << job.status();
  EXPECT_EQ(job->state(), v1::JOB_STATE_QUEUED);
  EXPECT_FALSE(job->has_error());
  const v1::Attempt attempt = jobs().Attempts("alice", "j1")->back();
  EXPECT_EQ(attempt.outcome(), "postponed");
  EXPECT_EQ(attempt.evidence(), full.message());
  EXPECT_EQ(Acquired().lease.job_id, "j2");
  EXPECT_FALSE(jobs().Acquire({"worker-1", {}, absl::Seconds(1)})->has_value());
  clock_.Advance(absl::Seconds(1));
  EXPECT_EQ(Acquired().lease.job_id, "j1");
}

TEST_P(JobOperationsTest, ForgetsAPauseWhenTheClockIsSetBack) {
  const v1::ErrorDetail full = *Failure(v1::JOB_STATE_FAILED, v1::ERROR_REASON_INTERNAL).error;
  ASSERT_TRUE(jobs().Postpone(Running("j1").lease, full).ok());
  clock_.Advance(-absl::Hours(24));
  EXPECT_EQ(Acquired().lease.job_id, "j1");
}

TEST_P(JobOperationsTest, DoesNotPostponeACancelledJob) {
  const LeasedJob leased = Running("j1");
  ASSERT_TRUE(jobs().Cancel("alice", "j1").ok());
  const v1::ErrorDetail full = *Failure(v1::JOB_STATE_FAILED, v1::ERROR_REASON_INTERNAL).error;
  EXPECT_EQ(jobs().Postpone(leased.lease, full)->state(), v1::JOB_STATE_CANCELLED);
}

TEST_P(JobOperationsTest, CancelsInEveryState) {
  ASSERT_TRUE(jobs().Submit(Submission("queued")).ok());
  EXPECT_EQ(jobs().Cancel("alice", "queued")->state(), v1::JOB_STATE_CANCELLED);
  EXPECT_EQ(jobs().Cancel("alice", "queued")->state(), v1::JOB_STATE_CANCELLED);
  EXPECT_EQ(jobs().Get("alice", "queued")->error().reason(), v1::ERROR_REASON_CANCELLED);

  const LeasedJob running = Running("running");
  EXPECT_FALSE(*jobs().Heartbeat(running.lease, absl::Seconds(30)));
  EXPECT_EQ(jobs().Cancel("alice", "running")->state(), v1::JOB_STATE_RUNNING);
  EXPECT_TRUE(*jobs().Heartbeat(running.lease, absl::Seconds(30)));
  const JobEnd end = Failure(v1::JOB_STATE_CANCELLED, v1::ERROR_REASON_CANCELLED);
  EXPECT_EQ(jobs().Finish(running.lease, end)->state(), v1::JOB_STATE_CANCELLED);
}

TEST_P(JobOperationsTest, DoesNotRunACancelledJobAgain) {
  const LeasedJob dying = Running("dying");
  ASSERT_TRUE(jobs().Cancel("alice", "dying").ok());
  ASSERT_EQ(*jobs().RecoverRunningJobs(), 1);
  EXPECT_EQ(jobs().Get("alice", "dying")->state(), v1::JOB_STATE_CANCELLED);
  const LeasedJob faulty = Running("faulty");
  ASSERT_TRUE(jobs().Cancel("alice", "faulty").ok());
  EXPECT_EQ(jobs().ReportFault(faulty.lease, {"crash"})->state(), v1::JOB_STATE_CANCELLED);
}

TEST_P(JobOperationsTest, LetsAResultWinOverALateCancellation) {
  const LeasedJob leased = Running("j1");
  ASSERT_TRUE(jobs().Cancel("alice", "j1").ok());
  EXPECT_EQ(jobs().Finish(leased.lease, Success())->state(), v1::JOB_STATE_SUCCEEDED);
}

TEST_P(JobOperationsTest, NumbersEventsWithoutGapsAndInOrder) {
  const LeasedJob leased = Running("j1");
  ASSERT_TRUE(jobs().AppendEvent(leased.lease, EventOf(v1::EVENT_TYPE_PHASE, "import")).ok());
  ASSERT_TRUE(jobs().AppendEvent(leased.lease, EventOf(v1::EVENT_TYPE_PHASE, "search")).ok());
  ASSERT_TRUE(jobs().Finish(leased.lease, Success()).ok());
  const std::vector<v1::Event> events = *jobs().Events("alice", "j1", 0, 100);
  ASSERT_EQ(events.size(), 5u);
  for (size_t index = 0; index < events.size(); ++index) {
    EXPECT_EQ(events[index].sequence(), static_cast<int64_t>(index) + 1);
    EXPECT_EQ(events[index].job_id(), "j1");
    EXPECT_EQ(events[index].tenant(), "alice");
    EXPECT_EQ(events[index].time().seconds(), 1'700'000'000);
  }
  EXPECT_EQ(events[2].text(), "import");
  EXPECT_EQ(events[3].text(), "search");
  EXPECT_EQ(events[4].type(), v1::EVENT_TYPE_SUCCEEDED);
  EXPECT_EQ(TypesOf(*jobs().Events("alice", "j1", 3, 1)),
            (std::vector<v1::EventType>{v1::EVENT_TYPE_PHASE}));
  EXPECT_TRUE(jobs().Events("alice", "j1", 5, 100)->empty());
}

TEST_P(JobOperationsTest, ShowsTheLastProgressInTheJob) {
  const LeasedJob leased = Running("j1");
  ASSERT_TRUE(jobs().AppendEvent(leased.lease, EventOf(v1::EVENT_TYPE_PHASE, "search", 0.25)).ok());
  ASSERT_TRUE(jobs().Flush().ok());
  EXPECT_EQ(jobs().Get("alice", "j1")->progress().fraction(), 0.25);
  for (int percent = 1; percent <= 50; ++percent) {
    const v1::Event event = EventOf(v1::EVENT_TYPE_PROGRESS, "", percent / 100.0);
    ASSERT_TRUE(jobs().AppendEvent(leased.lease, event).ok());
  }
  ASSERT_TRUE(jobs().Flush().ok());
  const absl::StatusOr<v1::Job> job = jobs().Get("alice", "j1");
  EXPECT_EQ(job->progress().phase(), "search");
  EXPECT_EQ(job->progress().fraction(), 0.5);
  EXPECT_EQ(jobs().Events("alice", "j1", 0, 1000)->back().fraction(), 0.5);
}

TEST_P(JobOperationsTest, KeepsWhatIsPredictedApartFromWhatIsMeasured) {
  const LeasedJob leased = Running("j1");
  v1::Event event = EventOf(v1::EVENT_TYPE_INCUMBENT);
  event.set_speedup(1.5);
  ASSERT_TRUE(jobs().AppendEvent(leased.lease, event).ok());
  event.set_type(v1::EVENT_TYPE_MEASURED);
  event.set_speedup(1.25);
  ASSERT_TRUE(jobs().AppendEvent(leased.lease, event).ok());
  event = EventOf(v1::EVENT_TYPE_PROGRESS, "", 0.5);
  event.set_seconds_left(7);
  ASSERT_TRUE(jobs().AppendEvent(leased.lease, event).ok());
  ASSERT_TRUE(jobs().Flush().ok());
  const v1::Progress progress = jobs().Get("alice", "j1")->progress();
  EXPECT_EQ(progress.speedup_predicted(), 1.5);
  EXPECT_EQ(progress.speedup(), 1.25);
  EXPECT_EQ(progress.seconds_left(), 7);
}

}  // namespace
}  // namespace plait
