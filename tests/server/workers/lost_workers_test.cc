#include <optional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/server/workers/worker_pool_fixture.h"

// Workers that die, go silent, or are at something that nobody wants, and tasks that fail or take
// too long.

namespace plait {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

// A thread of the server may hold the last call of a worker that was killed meanwhile.
TEST_F(WorkerPoolTest, AWorkerThatWasDroppedGetsNothing) {
  Idle("w1");
  pool_.DropWorker("w1");
  Submit("a");
  EXPECT_TRUE(Idle("w1").has_idle());
  EXPECT_TRUE(pool_.Workers().empty());
  EXPECT_TRUE(Idle("w2").has_task());
}

TEST_F(WorkerPoolTest, GivesTheTaskOfASilentWorkerToAnother) {
  Submit("a");
  const worker::v1::Task lost = Idle("w1").task();
  clock_.Advance(absl::Seconds(11));
  const worker::v1::Task task = Idle("w2").task();
  EXPECT_EQ(task.task_id(), lost.task_id());
  EXPECT_EQ(task.attempt(), 2);
  EXPECT_THAT(pool_.Workers(), SizeIs(1));
}

TEST_F(WorkerPoolTest, TellsOfEachWorkerThatWasLostAtATask) {
  std::vector<std::string> heard;
  const auto done = [&](const worker::v1::TaskResult&) { heard.emplace_back("end"); };
  const auto lost = [&](absl::string_view worker_id) { heard.emplace_back(worker_id); };
  pool_.Submit(Cpu(), ProfileTaskOf("a"), done, {}, lost);
  // Who wants the same without hearing of workers does not disturb.
  Submit("a");
  for (const char* worker : {"w1", "w2", "w3"}) {
    EXPECT_TRUE(Idle(worker).has_task());
    pool_.DropWorker(worker);
  }
  EXPECT_THAT(heard, ElementsAre("w1", "w2", "w3", "end"));
  Idle("w4");
  pool_.DropWorker("w4");
  EXPECT_THAT(heard, SizeIs(4));
}

TEST_F(WorkerPoolTest, DropsTheLateResultOfALostWorker) {
  Submit("a");
  const worker::v1::Task lost = Idle("w1").task();
  clock_.Advance(absl::Seconds(11));
  const worker::v1::Task task = Idle("w2").task();
  Complete("w1", lost, Success());
  EXPECT_THAT(results_, IsEmpty());
  Complete("w2", task, Success());
  EXPECT_THAT(results_, SizeIs(1));
}

TEST_F(WorkerPoolTest, KeepsAWorkerThatSendsHeartbeats) {
  Submit("a");
  const worker::v1::Task task = Idle("w1").task();
  for (int i = 0; i < 5; ++i) {
    clock_.Advance(absl::Seconds(9));
    EXPECT_EQ(Executing("w1", task).task().task_id(), task.task_id());
  }
  EXPECT_TRUE(Idle("w2").has_idle());
}

// A job is cancelled while it measures: the next one must not pay for it.
TEST_F(WorkerPoolTest, AWithdrawnTaskFailsNobody) {
  const int64_t withdrawn = Submit("a");
  const worker::v1::Task old = Idle("w1").task();
  pool_.Withdraw(withdrawn);
  Submit("b");
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(Executing("w1", old).has_idle());
  EXPECT_THAT(results_, IsEmpty());
  const worker::v1::Task next = Complete("w1", old, Success()).task();
  EXPECT_EQ(next.profile().kernels(0).key(), "b");
  EXPECT_EQ(next.attempt(), 1);
}

TEST_F(WorkerPoolTest, SaysSinceWhenAWorkerIsAtATaskThatNobodyWants) {
  const int64_t withdrawn = Submit("a");
  const worker::v1::Task old = Idle("w1").task();
  EXPECT_EQ(pool_.UnwantedSince("w1"), std::nullopt);
  const absl::Duration withdrawn_at = clock_.Monotonic();
  pool_.Withdraw(withdrawn);
  clock_.Advance(absl::Seconds(2));
  Executing("w1", old);
  EXPECT_EQ(pool_.Devices()[0].workers_idle, 0);
  clock_.Advance(absl::Seconds(1));
  Executing("w1", old);
  EXPECT_EQ(pool_.UnwantedSince("w1"), withdrawn_at);
  Idle("w1");
  EXPECT_EQ(pool_.UnwantedSince("w1"), std::nullopt);
  EXPECT_EQ(pool_.UnwantedSince("w2"), std::nullopt);
}

TEST_F(WorkerPoolTest, TakesATaskBackFromAWorkerThatIsAtAnotherOne) {
  Submit("a");
  const worker::v1::Task given = Idle("w1").task();
  worker::v1::Task foreign = given;
  foreign.set_task_id("task-of-another-life");
  EXPECT_TRUE(Executing("w1", foreign).has_idle());
  const worker::v1::Task again = Idle("w2").task();
  EXPECT_EQ(again.task_id(), given.task_id());
  EXPECT_EQ(again.attempt(), 1);
}

TEST_F(WorkerPoolTest, EndsATaskThatTakesLongerThanItsDeadline) {
  worker::v1::Task endless = ProfileTaskOf("a");
  endless.set_deadline_seconds(60);
  pool_.Submit(Cpu(), endless,
               [this](const worker::v1::TaskResult& result) { results_.push_back(result); });
  Submit("b");
  const worker::v1::Task task = Idle("w1").task();
  for (int second = 0; second < 64; ++second) {
    clock_.Advance(absl::Seconds(1));
    EXPECT_TRUE(Executing("w1", task).has_task());
  }
  clock_.Advance(absl::Seconds(2));
  pool_.CheckTimes();
  ASSERT_THAT(results_, SizeIs(1));
  EXPECT_EQ(results_[0].error().code(), static_cast<int>(absl::StatusCode::kDeadlineExceeded));
  EXPECT_TRUE(results_[0].error().hangs());
  EXPECT_THAT(results_[0].error().message(), HasSubstr("60 s"));
  EXPECT_NE(pool_.UnwantedSince("w1"), std::nullopt);
  // Its worker gets nothing until it is gone, and then the next task is an unspoiled one.
  EXPECT_TRUE(Executing("w1", task).has_idle());
  pool_.DropWorker("w1");
  EXPECT_EQ(Idle("w2").task().attempt(), 1);
}

TEST_F(WorkerPoolTest, DoesNotRepeatATaskThatItsWorkerDiedOf) {
  Submit("a");
  ASSERT_TRUE(Idle("w1").has_task());
  pool_.DropWorker("w1", absl::ResourceExhaustedError("too much memory"));
  EXPECT_TRUE(Idle("w2").has_idle());
  ASSERT_THAT(results_, SizeIs(1));
  EXPECT_EQ(results_[0].error().code(), static_cast<int>(absl::StatusCode::kResourceExhausted));
  EXPECT_EQ(results_[0].error().message(), "too much memory");
  EXPECT_THAT(pool_.Workers(), SizeIs(1));
  // Idle, it has no task that could be to blame.
  pool_.DropWorker("w2", absl::ResourceExhaustedError("too much memory"));
  EXPECT_THAT(results_, SizeIs(1));
}

// Another worker would take as long.
TEST_F(WorkerPoolTest, DoesNotRepeatATaskThatAWorkerEndedAtItsDeadline) {
  Submit("a");
  const worker::v1::Task task = Idle("w1").task();
  EXPECT_TRUE(Complete("w1", task, Error(absl::StatusCode::kDeadlineExceeded)).has_idle());
  EXPECT_THAT(results_, SizeIs(1));
}

// A worker elsewhere that was at the first task of a daemon, when the daemon was started again.
TEST_F(WorkerPoolTest, TakesNoAnswerToATaskOfAnEarlierPool) {
  WorkerPool earlier(clock_, {});
  earlier.Submit(Cpu(), ProfileTaskOf("old"), [](const worker::v1::TaskResult&) {});
  const worker::v1::Task old = earlier.Synchronize(From("w1"), WorkerPlace::kElsewhere).task();
  Submit("a");
  EXPECT_NE(Idle("w1").task().task_id(), old.task_id());
  Complete("w1", old, Success());
  EXPECT_THAT(results_, IsEmpty());
}

TEST_F(WorkerPoolTest, FailsATaskThatThreeWorkersDiedOf) {
  Submit("a");
  for (const char* worker : {"w1", "w2", "w3"}) {
    EXPECT_TRUE(Idle(worker).has_task());
    pool_.DropWorker(worker);
  }
  EXPECT_TRUE(Idle("w4").has_idle());
  ASSERT_THAT(results_, SizeIs(1));
  EXPECT_EQ(results_[0].error().code(), static_cast<int>(absl::StatusCode::kAborted));
  EXPECT_THAT(results_[0].error().message(), HasSubstr("attempt 3"));
}

TEST_F(WorkerPoolTest, RetriesAPassingErrorAndNotAFinalOne) {
  Submit("a");
  worker::v1::Task task = Idle("w1").task();
  task = Complete("w1", task, Error(absl::StatusCode::kInternal)).task();
  EXPECT_EQ(task.attempt(), 2);
  Complete("w1", task, Error(absl::StatusCode::kInvalidArgument));
  ASSERT_THAT(results_, SizeIs(1));
  EXPECT_EQ(results_[0].error().message(), "no luck");
}

}  // namespace
}  // namespace plait
