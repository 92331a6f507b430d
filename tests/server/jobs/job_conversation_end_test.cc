#include <string>
#include <thread>

#include <gtest/gtest.h>

#include "tests/server/jobs/job_conversation_fixture.h"

// When a conversation is over, and which time counts until then.

namespace plait {
namespace {

TEST_F(JobConversationTest, TellsTheChildOfTheDeadlineAndTakesItsBest) {
  time_max_ = -absl::Seconds(1);
  const ConversationEnd end = Talk("end_at_the_deadline");
  EXPECT_EQ(end.outcome, ConversationOutcome::kDeadline);
  EXPECT_TRUE(end.result.has_value());
}

TEST_F(JobConversationTest, WaitsNoLongerThanTheGraceAfterTheDeadline) {
  time_max_ = -absl::Minutes(1);
  const ConversationEnd end = Talk("hang");
  EXPECT_EQ(end.outcome, ConversationOutcome::kDeadline);
  EXPECT_FALSE(end.result.has_value());
}

TEST_F(JobConversationTest, TellsTheChildHowLongItWasStoppedForOthers) {
  stopped_for_others_ = absl::Seconds(90);
  EXPECT_EQ(Talk("tell_stopped_time").status.message(), "90");
}

TEST_F(JobConversationTest, CountsNoTimeInWhichTheChildWasStoppedForOthers) {
  time_max_ = -absl::Minutes(1);
  stopped_for_others_ = absl::Minutes(3);
  // Without these minutes it would be over at once.
  EXPECT_EQ(Talk("refuse").outcome, ConversationOutcome::kFailure);
}

TEST_F(JobConversationTest, CountsTheTimeOfItsOwnQuestions) {
  std::thread worker([&] {
    pool_.AwaitWork(Cpu(), absl::Minutes(1));
    park_.SetQuiet(true);
    clock_.Advance(absl::Seconds(20));
    park_.SetQuiet(false);
    AnswerOneTask(AskedKernel().ToString());
  });
  EXPECT_EQ(Talk("ask_and_tell_stopped_time").status.message(), "0");
  worker.join();
}

TEST_F(JobConversationTest, CountsNoTimeInWhichItsDeviceMeasuredForOthers) {
  // Before the child can ask, or its question would be the older one.
  const worker::v1::Task others = TakeAnothersTask();
  std::thread worker([&] { AnswerOneTaskAfter(others, absl::Seconds(20)); });
  EXPECT_EQ(Talk("ask_and_tell_stopped_time").status.message(), "20");
  worker.join();
}

TEST_F(JobConversationTest, TheDeadlineWaitsWhileItsDeviceMeasuresForOthers) {
  time_max_ = absl::Seconds(10);
  const worker::v1::Task others = TakeAnothersTask();
  std::thread worker([&] { AnswerOneTaskAfter(others, absl::Seconds(20)); });
  EXPECT_EQ(Talk("ask").outcome, ConversationOutcome::kFailure);
  worker.join();
}

TEST_F(JobConversationTest, EndsWhenTheDaemonStops) {
  stopping_ = true;
  EXPECT_EQ(Talk("hang").outcome, ConversationOutcome::kStopped);
}

TEST_F(JobConversationTest, EndsWhenTheClientCancels) {
  ASSERT_TRUE(stores_.jobs->Cancel("t", "job-1").ok());
  EXPECT_EQ(Talk("hang").outcome, ConversationOutcome::kCancelled);
}

TEST_F(JobConversationTest, EndsWhenAnotherRunOfTheJobCounts) {
  ASSERT_TRUE(stores_.jobs->Release(job_.lease).ok());
  lease_ = absl::ZeroDuration();  // so that the first step asks the store
  EXPECT_EQ(Talk("hang").outcome, ConversationOutcome::kLeaseLost);
}

TEST_F(JobConversationTest, TellsALimitFromAFault) {
  EXPECT_EQ(Talk("memory").outcome, ConversationOutcome::kLimit);
  EXPECT_EQ(Talk("crash").outcome, ConversationOutcome::kFault);
}

}  // namespace
}  // namespace plait
