#include "server/jobs/job_conversation.h"

#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/workers/task_blobs.h"
#include "tests/server/jobs/job_conversation_fixture.h"

namespace plait {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

TEST_F(JobConversationTest, TakesAQuestionToAWorkerAndKeepsTheAnswer) {
  worker::v1::Task task;
  std::thread worker([&] { task = AnswerOneTask(AskedKernel().ToString()); });
  const ConversationEnd end = Talk("ask");
  worker.join();
  // The child repeats in its refusal what it has heard.
  EXPECT_EQ(end.outcome, ConversationOutcome::kFailure);
  EXPECT_EQ(end.status.message(), AskedKernel().ToString());
  EXPECT_EQ(task.profile().device_fingerprint(), "cpu-1");
  EXPECT_EQ(task.deadline_seconds(), 90);
  ASSERT_THAT(StoredProfiles(), SizeIs(1));
  EXPECT_EQ(StoredProfiles()[0].key(), AskedKernel().ToString());
  EXPECT_EQ(StoredProfiles()[0].device_fingerprint(), "cpu-1");
  EXPECT_EQ(StoredProfiles()[0].profile().latency_us_median(), 2.5);
}

// Otherwise the time of one kernel, or the outputs of one plan, could vouch for another.
TEST_F(JobConversationTest, TakesNoAnswerAboutSomethingElse) {
  std::thread worker([&] { AnswerOneTask("another"); });
  EXPECT_EQ(Talk("ask").status.message(), "the worker's answer is about another task");
  worker.join();
  EXPECT_THAT(StoredProfiles(), IsEmpty());
}

// The worker measures what the fields say, and the time is kept for the searches of all tenants.
TEST_F(JobConversationTest, RefusesAKeyThatIsNotTheKernels) {
  const ConversationEnd end = Talk("wrong_key");
  EXPECT_EQ(end.outcome, ConversationOutcome::kFault);
  EXPECT_THAT(std::string(end.status.message()), HasSubstr("a key that is not its kernel's"));
  EXPECT_THAT(StoredProfiles(), IsEmpty());
}

// A worker may read what its task names: a child could have it read what is another tenant's.
TEST_F(JobConversationTest, RefusesAnInputThatIsNotTheJobs) {
  const ConversationEnd end = Talk("foreign_input");
  EXPECT_EQ(end.outcome, ConversationOutcome::kFault);
  EXPECT_THAT(std::string(end.status.message()), HasSubstr("an input that is not the job's"));
  ExpectThatNoTaskWaits();
}

TEST_F(JobConversationTest, TakesTheJobsInputsToAWorker) {
  worker::v1::Task task;
  std::thread worker([&] { task = AnswerOneTask("any"); });
  EXPECT_EQ(Talk("own_input").outcome, ConversationOutcome::kFailure);
  worker.join();
  EXPECT_TRUE(NamesBlob(task, DigestOf("an input")));
}

TEST_F(JobConversationTest, TakesModelsToTheWorkerOfTheirRuntime) {
  worker::v1::TaskResult result;
  result.mutable_measure_models()->set_options("fast=1");
  result.mutable_measure_models()->add_models();
  std::thread worker([&] { AnswerOneTask(result, Fast()); });
  const ConversationEnd end = Talk("ask_runtime");
  worker.join();
  EXPECT_EQ(end.outcome, ConversationOutcome::kFailure);
  EXPECT_THAT(std::string(end.status.message()), HasSubstr("fast=1"));
}

TEST_F(JobConversationTest, DoesNotBelieveARuntimeThatAnswersAboutOtherModels) {
  worker::v1::TaskResult result;
  result.mutable_measure_models();
  std::thread worker([&] { AnswerOneTask(result, Fast()); });
  EXPECT_THAT(std::string(Talk("ask_runtime").status.message()), HasSubstr("another task"));
  worker.join();
}

TEST_F(JobConversationTest, AnswersForARuntimeThatNobodyServes) {
  time_max_ = absl::Hours(10);
  lease_ = absl::Hours(10);
  std::thread waiting([&] {
    pool_.AwaitWork(Fast(), absl::Minutes(1));
    // The question's own time begins behind that.
    for (int i = 0; i < 20; ++i) clock_.Advance(absl::Minutes(1));
  });
  const ConversationEnd end = Talk("ask_runtime");
  waiting.join();
  EXPECT_EQ(end.outcome, ConversationOutcome::kFailure);
  EXPECT_THAT(std::string(end.status.message()), HasSubstr("did not answer in time"));
}

TEST_F(JobConversationTest, WithdrawsTheQuestionsThatAreOpenAtItsEnd) {
  const ConversationEnd end = Talk("twice");
  EXPECT_EQ(end.outcome, ConversationOutcome::kFault);
  EXPECT_THAT(std::string(end.status.message()), HasSubstr("used twice"));
  ExpectThatNoTaskWaits();
}

// Each question is kept until it is answered, and 64 of the largest would take the daemon's memory.
TEST_F(JobConversationTest, RefusesQuestionsThatTakeTooMuchMemoryTogether) {
  const ConversationEnd end = Talk("ask_for_much");
  EXPECT_EQ(end.outcome, ConversationOutcome::kFault);
  EXPECT_THAT(std::string(end.status.message()), HasSubstr("open requests take"));
}

TEST_F(JobConversationTest, RecordsEventsWithoutWhatTheChildMayNotSay) {
  EXPECT_EQ(Talk("exaggerate").outcome, ConversationOutcome::kFailure);
  ASSERT_TRUE(stores_.jobs->Flush().ok());
  const std::vector<v1::Event> events = Events();
  ASSERT_FALSE(events.empty());
  EXPECT_EQ(events.back().text(), "search");
  EXPECT_EQ(events.back().fraction(), 0);
  EXPECT_EQ(events.back().tenant(), "t");
}

TEST_F(JobConversationTest, ShowsTheBestPredictedAndTheBestMeasured) {
  EXPECT_EQ(Talk("find_something").outcome, ConversationOutcome::kFailure);
  ASSERT_TRUE(stores_.jobs->Flush().ok());
  const v1::Progress progress = stores_.jobs->Get("t", "job-1")->progress();
  EXPECT_EQ(progress.speedup_predicted(), 1.5);
  EXPECT_EQ(progress.speedup(), 1.25);
}

// The child stands still while a worker measures for it, and so would the progress.
TEST_F(JobConversationTest, GoesOnTellingProgressWhileAWorkerMeasures) {
  std::thread worker([&] {
    pool_.AwaitWork(Cpu(), absl::Minutes(1));
    for (int second = 0; second < 10; ++second) {
      clock_.Advance(absl::Seconds(1));
      wakeup_->Signal();
      absl::SleepFor(absl::Milliseconds(20));
    }
    AnswerOneTask(AskedKernel().ToString());
  });
  EXPECT_EQ(Talk("ask_in_verification").outcome, ConversationOutcome::kFailure);
  worker.join();
  ASSERT_TRUE(stores_.jobs->Flush().ok());
  double before = 0.7;
  int count = 0;
  for (const v1::Event& event : Events()) {
    if (event.type() != v1::EVENT_TYPE_PROGRESS) continue;
    EXPECT_GE(event.fraction(), before);
    EXPECT_LE(event.seconds_left(), 20);
    before = event.fraction();
    ++count;
  }
  EXPECT_GE(count, 3);
  // Half of the 20 s are over.
  EXPECT_GE(before, 0.75);
  EXPECT_LE(before, 0.86);
  EXPECT_EQ(stores_.jobs->Get("t", "job-1")->progress().phase(), "verify");
}

TEST_F(JobConversationTest, TellsOfAWorkerThatWasLost) {
  std::thread worker([&] {
    pool_.AwaitWork(Cpu(), absl::Minutes(1));
    worker::v1::SynchronizeRequest request;
    request.set_worker_id("w0");
    *request.mutable_device() = Cpu();
    request.mutable_idle();
    pool_.Synchronize(request, WorkerPlace::kElsewhere);
    pool_.DropWorker("w0");
    AnswerOneTask(AskedKernel().ToString());
  });
  EXPECT_EQ(Talk("ask").outcome, ConversationOutcome::kFailure);
  worker.join();
  ASSERT_TRUE(stores_.jobs->Flush().ok());
  std::vector<std::string> lost;
  for (const v1::Event& event : Events()) {
    if (event.type() == v1::EVENT_TYPE_WORKER_LOST) lost.push_back(event.text());
  }
  EXPECT_THAT(lost, testing::ElementsAre("worker w0 died or went silent"));
}

TEST_F(JobConversationTest, StoresTheTableOfWeightsAndNamesItInTasks) {
  worker::v1::Task task;
  std::thread worker([&] { task = FailOneTask(); });
  EXPECT_EQ(Talk("measure_with_weights").status.message(), "not so");
  worker.join();
  EXPECT_EQ(task.model().sha256_hex(), DigestOf("model").sha256_hex);
  EXPECT_EQ(task.weights().sha256_hex(), DigestOf("a table").sha256_hex);
  EXPECT_EQ(*stores_.blobs->Read(DigestOf("a table"), 0, 100), "a table");
  // It is the workers', who read what tasks name.
  EXPECT_FALSE(*stores_.jobs->MayReadBlob("t", DigestOf("a table")));
}

TEST_F(JobConversationTest, NamesNoModelWhoseWeightsNobodyCanFind) {
  worker::v1::Task task;
  std::thread worker([&] { task = FailOneTask(); });
  Talk("measure");
  worker.join();
  EXPECT_TRUE(task.has_measure());
  EXPECT_FALSE(task.has_model());
  EXPECT_FALSE(task.has_weights());
}

// A job may wait for hours until a worker is free, and nothing else names the table.
TEST_F(JobConversationTest, KeepsTheTableFromBeingCollected) {
  const auto is_in_use = [&] {
    const std::vector<BlobEntry> blobs = *stores_.blobs->List();
    for (const BlobEntry& blob : blobs) {
      if (blob.digest == DigestOf("a table")) return blob.used_at == clock_.Now();
    }
    return false;
  };
  bool was_kept = false;
  std::thread worker([&] {
    pool_.AwaitWork(Cpu(), absl::Minutes(1));
    clock_.Advance(absl::Seconds(20));
    wakeup_->Signal();
    for (int i = 0; i < 500 && !was_kept; ++i) {
      absl::SleepFor(absl::Milliseconds(20));
      was_kept = is_in_use();
    }
    FailOneTask();
  });
  Talk("measure_with_weights");
  worker.join();
  EXPECT_TRUE(was_kept);
}

TEST_F(JobConversationTest, TakesOneTableOfWeightsThatIsOne) {
  const ConversationEnd twice = Talk("write_weights_twice");
  EXPECT_EQ(twice.outcome, ConversationOutcome::kFault);
  EXPECT_THAT(std::string(twice.status.message()), HasSubstr("two tables"));
  const ConversationEnd none = Talk("write_no_weights");
  EXPECT_EQ(none.outcome, ConversationOutcome::kFault);
  EXPECT_THAT(std::string(none.status.message()), HasSubstr("wrote nothing"));
}

}  // namespace
}  // namespace plait
