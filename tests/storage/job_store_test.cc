#include <set>

#include "proto/wire/error.h"
#include "tests/storage/store_test.h"

namespace plait {
namespace {

using JobStoreTest = StoreTest;
INSTANTIATE_STORE_TEST(JobStoreTest);

TEST_P(JobStoreTest, QueuesASubmittedJob) {
  const absl::StatusOr<v1::Job> job = jobs().Submit(Submission("j1"));
  ASSERT_TRUE(job.ok()) << job.status();
  EXPECT_EQ(job->state(), v1::JOB_STATE_QUEUED);
  EXPECT_EQ(job->create_time().seconds(), 1'700'000'000);
  const absl::StatusOr<v1::Job> read = jobs().Get("alice", "j1");
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->SerializeAsString(), job->SerializeAsString());
}

TEST_P(JobStoreTest, IgnoresStateThatTheSubmitterInvents) {
  JobSubmission submission = Submission("j1");
  submission.job.set_state(v1::JOB_STATE_SUCCEEDED);
  submission.job.set_faults(7);
  const absl::StatusOr<v1::Job> job = jobs().Submit(submission);
  ASSERT_TRUE(job.ok());
  EXPECT_EQ(job->state(), v1::JOB_STATE_QUEUED);
  EXPECT_EQ(job->faults(), 0);
}

TEST_P(JobStoreTest, ReturnsTheSameJobForTheSameRequestId) {
  JobSubmission submission = Submission("j1");
  submission.request_id = "r1";
  submission.request_hash = "h1";
  ASSERT_TRUE(jobs().Submit(submission).ok());
  submission.job.set_id("j2");
  const absl::StatusOr<v1::Job> again = jobs().Submit(submission);
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(again->id(), "j1");
  EXPECT_TRUE(absl::IsNotFound(jobs().Get("alice", "j2").status()));
  EXPECT_EQ(jobs().Count()->queued, 1);
}

TEST_P(JobStoreTest, RefusesARequestIdForAnotherRequest) {
  JobSubmission submission = Submission("j1");
  submission.request_id = "r1";
  submission.request_hash = "h1";
  ASSERT_TRUE(jobs().Submit(submission).ok());
  submission.job.set_id("j2");
  submission.request_hash = "h2";
  const absl::Status status = jobs().Submit(submission).status();
  EXPECT_TRUE(absl::IsAlreadyExists(status)) << status;
  EXPECT_EQ(wire::ReasonOf(status), v1::ERROR_REASON_REQUEST_ID_REUSED);
}

TEST_P(JobStoreTest, KeepsRequestIdsOfTenantsApart) {
  JobSubmission submission = Submission("j1", "alice");
  submission.request_id = "r1";
  submission.request_hash = "h1";
  ASSERT_TRUE(jobs().Submit(submission).ok());
  submission.job.set_id("j2");
  submission.job.set_tenant("bob");
  const absl::StatusOr<v1::Job> job = jobs().Submit(submission);
  ASSERT_TRUE(job.ok());
  EXPECT_EQ(job->id(), "j2");
}

TEST_P(JobStoreTest, RefusesATakenIdWithoutATrace) {
  ASSERT_TRUE(jobs().Submit(Submission("j1")).ok());
  JobSubmission submission = Submission("j1", "bob");
  submission.request_id = "r1";
  EXPECT_TRUE(absl::IsAlreadyExists(jobs().Submit(submission).status()));
  submission.job.set_id("j2");
  EXPECT_EQ(jobs().Submit(submission)->id(), "j2");
  EXPECT_EQ(jobs().Get("alice", "j1")->tenant(), "alice");
}

TEST_P(JobStoreTest, RefusesJobsBeyondTheQueueLimit) {
  Open(2);
  ASSERT_TRUE(jobs().Submit(Submission("j1")).ok());
  ASSERT_TRUE(jobs().Submit(Submission("j2")).ok());
  const absl::Status status = jobs().Submit(Submission("j3")).status();
  EXPECT_TRUE(absl::IsResourceExhausted(status));
  EXPECT_EQ(wire::ReasonOf(status), v1::ERROR_REASON_QUOTA_EXCEEDED);
  Acquired();
  EXPECT_TRUE(jobs().Submit(Submission("j3")).ok());
}

TEST_P(JobStoreTest, HidesJobsOfOtherTenants) {
  ASSERT_TRUE(jobs().Submit(Submission("j1")).ok());
  EXPECT_TRUE(absl::IsNotFound(jobs().Get("bob", "j1").status()));
  EXPECT_TRUE(absl::IsNotFound(jobs().Attempts("bob", "j1").status()));
  EXPECT_TRUE(absl::IsNotFound(jobs().Events("bob", "j1", 0, 10).status()));
  EXPECT_TRUE(absl::IsNotFound(jobs().Cancel("bob", "j1").status()));
  EXPECT_TRUE(jobs().List({.tenant = "bob", .page_size = 10})->jobs.empty());
  EXPECT_EQ(jobs().Get("alice", "j1")->state(), v1::JOB_STATE_QUEUED);
}

TEST_P(JobStoreTest, ListsNewestFirstWithoutGapsOrRepeats) {
  for (int number = 0; number < 7; ++number) {
    ASSERT_TRUE(jobs().Submit(Submission(absl::StrCat("j", number))).ok());
    ASSERT_TRUE(jobs().Submit(Submission(absl::StrCat("other", number), "bob")).ok());
  }
  std::vector<std::string> seen;
  JobQuery query{.tenant = "alice", .page_size = 3};
  do {
    const absl::StatusOr<JobPage> page = jobs().List(query);
    ASSERT_TRUE(page.ok()) << page.status();
    EXPECT_LE(page->jobs.size(), 3u);
    for (const v1::Job& job : page->jobs) seen.push_back(job.id());
    query.before = page->next_before;
    // A job that arrives between two pages belongs to neither.
    ASSERT_TRUE(jobs().Submit(Submission(absl::StrCat("late", seen.size()))).ok());
  } while (query.before != 0);
  EXPECT_EQ(seen, (std::vector<std::string>{"j6", "j5", "j4", "j3", "j2", "j1", "j0"}));
}

TEST_P(JobStoreTest, ListsWhatAFilterAcceptsWithoutGapsOrRepeats) {
  for (int number = 0; number < 7; ++number) {
    ASSERT_TRUE(jobs().Submit(Submission(absl::StrCat("j", number))).ok());
    ASSERT_TRUE(jobs().Cancel("alice", absl::StrCat("j", number)).ok());
    ASSERT_TRUE(jobs().Submit(Submission(absl::StrCat("queued", number))).ok());
  }
  std::vector<std::string> seen;
  JobQuery query{.tenant = "alice", .page_size = 3};
  query.filter = *wire::JobFilter::Parse("state = CANCELLED AND id != j3");
  do {
    const absl::StatusOr<JobPage> page = jobs().List(query);
    ASSERT_TRUE(page.ok()) << page.status();
    EXPECT_LE(page->jobs.size(), 3u);
    for (const v1::Job& job : page->jobs) seen.push_back(job.id());
    query.before = page->next_before;
  } while (query.before != 0);
  EXPECT_EQ(seen, (std::vector<std::string>{"j6", "j5", "j4", "j2", "j1", "j0"}));
}

// Else one client's question could keep the store busy for as long as it has jobs.
TEST_P(JobStoreTest, EndsALookForWhatAFilterHardlyAccepts) {
  ASSERT_TRUE(jobs().Submit(Submission("wanted")).ok());
  for (int number = 0; number < 520; ++number) {
    ASSERT_TRUE(jobs().Submit(Submission(absl::StrCat("j", number))).ok());
  }
  JobQuery query{.tenant = "alice", .page_size = 10};
  query.filter = *wire::JobFilter::Parse("id = wanted");
  const absl::StatusOr<JobPage> first = jobs().List(query);
  EXPECT_EQ(first->jobs.size(), 0u);
  ASSERT_NE(first->next_before, 0);
  query.before = first->next_before;
  const absl::StatusOr<JobPage> second = jobs().List(query);
  ASSERT_EQ(second->jobs.size(), 1u);
  EXPECT_EQ(second->jobs[0].id(), "wanted");
  EXPECT_EQ(second->next_before, 0);
}

// Whatever jobs name, a page fits into a message.
TEST_P(JobStoreTest, EndsAPageOfLargeJobsEarly) {
  for (int number = 0; number < 7; ++number) {
    JobSubmission submission = Submission(absl::StrCat("j", number));
    const bool is_huge = number == 3;
    submission.job.mutable_options()->set_search(std::string(is_huge ? 3 << 20 : 900'000, 'x'));
    ASSERT_TRUE(jobs().Submit(submission).ok());
  }
  std::vector<std::vector<std::string>> seen;
  JobQuery query{.tenant = "alice", .page_size = 100};
  do {
    const absl::StatusOr<JobPage> page = jobs().List(query);
    ASSERT_TRUE(page.ok()) << page.status();
    std::vector<std::string>& ids = seen.emplace_back();
    for (const v1::Job& job : page->jobs) ids.push_back(job.id());
    query.before = page->next_before;
  } while (query.before != 0 && seen.size() < 10);
  EXPECT_EQ(seen, (std::vector<std::vector<std::string>>{
                      {"j6", "j5"}, {"j4"}, {"j3"}, {"j2", "j1"}, {"j0"}}));
}

TEST_P(JobStoreTest, EndsAListingThatFillsItsPageExactly) {
  ASSERT_TRUE(jobs().Submit(Submission("j1")).ok());
  ASSERT_TRUE(jobs().Submit(Submission("j2")).ok());
  EXPECT_EQ(jobs().List({.tenant = "alice", .page_size = 2})->next_before, 0);
}

TEST_P(JobStoreTest, ListsJobsOfOneStateWithoutReports) {
  const LeasedJob leased = Running("j1");
  ASSERT_TRUE(jobs().Finish(leased.lease, Success()).ok());
  ASSERT_TRUE(jobs().Submit(Submission("j2")).ok());
  const absl::StatusOr<JobPage> page =
      jobs().List({.tenant = "alice", .state = v1::JOB_STATE_SUCCEEDED, .page_size = 10});
  ASSERT_TRUE(page.ok());
  ASSERT_EQ(page->jobs.size(), 1u);
  EXPECT_EQ(page->jobs[0].id(), "j1");
  EXPECT_FALSE(page->jobs[0].result().has_report());
  EXPECT_EQ(jobs().Get("alice", "j1")->result().report().speedup(), 1.25);
}

TEST_P(JobStoreTest, KeepsAwkwardValues) {
  JobSubmission submission = Submission("j1", "o'hara; DROP TABLE jobs; --");
  v1::OptimizeOptions& options = *submission.job.mutable_options();
  options.set_budget_seconds(0.1);
  options.set_max_rel_error(1e-300);
  options.set_seed(18446744073709551615u);
  (*options.mutable_shapes())[std::string("a\0b", 3)].add_dims(INT64_MAX);
  (*options.mutable_shapes())[""];
  const absl::StatusOr<v1::Job> job = jobs().Submit(submission);
  ASSERT_TRUE(job.ok()) << job.status();
  const absl::StatusOr<v1::Job> read = jobs().Get(submission.job.tenant(), "j1");
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->tenant(), submission.job.tenant());
  EXPECT_EQ(read->options().budget_seconds(), 0.1);
  EXPECT_EQ(read->options().max_rel_error(), 1e-300);
  EXPECT_EQ(read->options().seed(), 18446744073709551615u);
  EXPECT_EQ(read->options().shapes().at(std::string("a\0b", 3)).dims(0), INT64_MAX);
  EXPECT_TRUE(read->options().shapes().contains(""));
}

TEST_P(JobStoreTest, FindsAResultOnlyUnderItsWholeKey) {
  const ResultKey key{"alice", DigestOf("model"), "cpu/x", "options", "engine"};
  JobEnd end = Success();
  end.cache_as = key;
  ASSERT_TRUE(jobs().Finish(Running("j1").lease, end).ok());
  ASSERT_TRUE(jobs().FindResult(key)->has_value());
  EXPECT_EQ((*jobs().FindResult(key))->id(), "j1");
  ResultKey other = key;
  other.tenant = "bob";
  EXPECT_FALSE(jobs().FindResult(other)->has_value());
  other = key;
  other.model = DigestOf("another");
  EXPECT_FALSE(jobs().FindResult(other)->has_value());
  other = key;
  other.device_fingerprint = "cpu/y";
  EXPECT_FALSE(jobs().FindResult(other)->has_value());
  other = key;
  other.options_hash = "others";
  EXPECT_FALSE(jobs().FindResult(other)->has_value());
  other = key;
  other.engine_version = "engine2";
  EXPECT_FALSE(jobs().FindResult(other)->has_value());
}

TEST_P(JobStoreTest, LetsTenantsReadTheirBlobsOnly) {
  ASSERT_TRUE(jobs().GrantBlob("alice", DigestOf("model")).ok());
  ASSERT_TRUE(jobs().GrantBlob("alice", DigestOf("model")).ok());
  EXPECT_TRUE(*jobs().MayReadBlob("alice", DigestOf("model")));
  EXPECT_FALSE(*jobs().MayReadBlob("bob", DigestOf("model")));
  ASSERT_TRUE(jobs().Finish(Running("j1").lease, Success()).ok());
  EXPECT_TRUE(*jobs().MayReadBlob("alice", DigestOf("optimized")));
  EXPECT_FALSE(*jobs().MayReadBlob("bob", DigestOf("optimized")));
}

TEST_P(JobStoreTest, NamesEveryBlobOfEveryJob) {
  ASSERT_TRUE(jobs().Finish(Running("j1").lease, Success()).ok());
  JobSubmission replay = Submission("j2");
  *replay.job.mutable_options()->mutable_measurement_log() = wire::DigestToProto(DigestOf("log"));
  for (const char* input : {"one input", "another input"}) {
    v1::InputSet& set = *replay.job.mutable_options()->add_input_sets();
    *set.add_values()->mutable_blob() = wire::DigestToProto(DigestOf(input));
  }
  ASSERT_TRUE(jobs().Submit(replay).ok());
  std::set<Digest> of_open;
  std::set<Digest> of_ended;
  int pages = 0;
  int64_t before = 0;
  do {
    const absl::StatusOr<BlobReferencePage> page = jobs().ReferencedBlobs(before, 1);
    ASSERT_TRUE(page.ok()) << page.status();
    for (const BlobReference& reference : page->references) {
      (reference.job_is_over ? of_ended : of_open).insert(reference.digest);
    }
    before = page->next_before;
    ++pages;
  } while (before != 0);
  // Two jobs, and a page that shows that there is no third one.
  EXPECT_EQ(pages, 3);
  EXPECT_EQ(of_ended, (std::set<Digest>{DigestOf("model"), DigestOf("optimized")}));
  EXPECT_EQ(of_open, (std::set<Digest>{DigestOf("model"), DigestOf("log"), DigestOf("one input"),
                                       DigestOf("another input")}));
}

TEST_P(JobStoreTest, DeletesAJobThatIsOverWithAllThatBelongsToIt) {
  const ResultKey key{"alice", DigestOf("model"), "cpu/x", "options", "engine"};
  JobSubmission submission = Submission("j1");
  submission.request_id = "r1";
  ASSERT_TRUE(jobs().Submit(submission).ok());
  const absl::Status waiting = jobs().Delete("alice", "j1");
  EXPECT_TRUE(absl::IsFailedPrecondition(waiting)) << waiting;
  EXPECT_EQ(wire::ReasonOf(waiting), v1::ERROR_REASON_WRONG_STATE);
  JobEnd end = Success();
  end.cache_as = key;
  const LeasedJob leased = Acquired();
  EXPECT_TRUE(absl::IsFailedPrecondition(jobs().Delete("alice", "j1")));
  ASSERT_TRUE(jobs().Finish(leased.lease, end).ok());
  EXPECT_TRUE(absl::IsNotFound(jobs().Delete("bob", "j1")));

  ASSERT_TRUE(jobs().Delete("alice", "j1").ok());
  EXPECT_TRUE(absl::IsNotFound(jobs().Get("alice", "j1").status()));
  EXPECT_TRUE(absl::IsNotFound(jobs().Events("alice", "j1", 0, 10).status()));
  EXPECT_TRUE(absl::IsNotFound(jobs().Delete("alice", "j1")));
  EXPECT_FALSE(jobs().FindResult(key)->has_value());
  EXPECT_FALSE(jobs().FindSubmitted(submission)->has_value());
  EXPECT_TRUE(jobs().ReferencedBlobs(0, 10)->references.empty());
  // Nothing of it is found under its id again, and its number is not used twice.
  ASSERT_TRUE(jobs().Submit(submission).ok());
  EXPECT_EQ(jobs().Events("alice", "j1", 0, 10)->size(), 1u);
  EXPECT_TRUE(jobs().Attempts("alice", "j1")->empty());
}

TEST_P(JobStoreTest, DeletesTheJobsThatEndedFirst) {
  for (const char* id : {"j1", "j2", "j3"}) {
    ASSERT_TRUE(jobs().Finish(Running(id).lease, Success()).ok());
    clock_.Advance(absl::Hours(1));
  }
  ASSERT_TRUE(jobs().Submit(Submission("waiting")).ok());
  EXPECT_EQ(*jobs().DeleteEnded(clock_.Now() - absl::Hours(3), 10), 0);
  EXPECT_EQ(*jobs().DeleteEnded(clock_.Now(), 1), 1);
  EXPECT_TRUE(absl::IsNotFound(jobs().Get("alice", "j1").status()));
  EXPECT_EQ(*jobs().DeleteEnded(clock_.Now() - absl::Hours(1), 10), 1);
  EXPECT_TRUE(absl::IsNotFound(jobs().Get("alice", "j2").status()));
  EXPECT_EQ(*jobs().DeleteEnded(clock_.Now() + absl::Hours(10), 10), 1);
  EXPECT_EQ(jobs().List({.tenant = "alice", .page_size = 10})->jobs.size(), 1u);
}

TEST_P(JobStoreTest, TellsItsListenerOfEachChange) {
  const LeasedJob leased = Running("j1");
  ASSERT_TRUE(jobs().Finish(leased.lease, Success()).ok());
  ASSERT_FALSE(jobs().Cancel("alice", "absent").ok());
  absl::MutexLock lock(&changed_mutex_);
  EXPECT_EQ(changed_, (std::vector<std::string>{"j1", "j1", "j1"}));
}

}  // namespace
}  // namespace plait
