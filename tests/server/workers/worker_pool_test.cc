#include "server/workers/worker_pool.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/server/workers/worker_pool_fixture.h"

namespace plait {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

TEST_F(WorkerPoolTest, GivesTheOldestTaskToAnIdleWorker) {
  Submit("a");
  Submit("b");
  const worker::v1::SynchronizeResponse response = Idle("w1");
  EXPECT_EQ(response.task().profile().kernels(0).key(), "a");
  EXPECT_EQ(response.task().attempt(), 1);
}

TEST_F(WorkerPoolTest, LetsTenantsTakeTurns) {
  for (const char* key : {"a1", "a2", "a3"}) Submit(key, "alice");
  for (const char* key : {"b1", "b2"}) Submit(key, "bob");
  std::vector<std::string> order;
  for (int number = 0; number < 4; ++number) {
    const worker::v1::Task task = Idle("w1").task();
    order.push_back(task.profile().kernels(0).key());
    // One who comes late waits for nobody's second turn.
    if (number == 1) Submit("c1", "carol");
    Complete("w1", task, Success());
  }
  EXPECT_THAT(order, ElementsAre("a1", "b1", "c1", "a2"));
}

TEST_F(WorkerPoolTest, TellsAWorkerAgainThatMissedTheAnswer) {
  Submit("a");
  const std::string first = Idle("w1").task().task_id();
  EXPECT_EQ(Idle("w1").task().task_id(), first);
  EXPECT_EQ(Idle("w1").task().attempt(), 1);
}

TEST_F(WorkerPoolTest, RunsEqualTasksOnce) {
  Submit("a");
  Submit("a");
  const worker::v1::Task task = Idle("w1").task();
  EXPECT_TRUE(Idle("w2").has_idle());
  EXPECT_TRUE(Complete("w1", task, Success()).has_idle());
  EXPECT_THAT(results_, SizeIs(2));
}

TEST_F(WorkerPoolTest, KeepsASharedTaskWhenOneOfTwoWithdraws) {
  const int64_t first = Submit("a");
  Submit("a");
  pool_.Withdraw(first);
  const worker::v1::Task task = Idle("w1").task();
  Complete("w1", task, Success());
  EXPECT_THAT(results_, SizeIs(1));
}

TEST_F(WorkerPoolTest, DropsATaskThatNobodyWants) {
  const int64_t interest = Submit("a");
  pool_.Withdraw(interest);
  pool_.Withdraw(interest);
  EXPECT_TRUE(Idle("w1").has_idle());
  EXPECT_THAT(results_, IsEmpty());
}

TEST_F(WorkerPoolTest, GivesNoTaskToAnotherDevice) {
  Submit("a");
  worker::v1::SynchronizeRequest request = From("w1");
  request.mutable_device()->set_fingerprint("cpu-2");
  EXPECT_TRUE(pool_.Synchronize(request, WorkerPlace::kThisHost).has_idle());
}

TEST_F(WorkerPoolTest, GivesNoNewTaskWhileDraining) {
  Submit("a");
  pool_.Drain();
  EXPECT_TRUE(Idle("w1").has_idle());
}

TEST_F(WorkerPoolTest, GivesNoTaskToAWorkerThatPrefersToBeIdle) {
  Submit("a");
  worker::v1::SynchronizeRequest request = From("w1");
  request.set_prefer_being_idle(true);
  EXPECT_TRUE(pool_.Synchronize(request, WorkerPlace::kThisHost).has_idle());
}

TEST_F(WorkerPoolTest, LetsTheJobsOfATenantTakeTurnsThatAskOneQuestionAtATime) {
  Submit("job-1 a", "alice", "job-1");
  Submit("job-2 a", "alice", "job-2");
  std::vector<std::string> order;
  worker::v1::Task task = Idle("w1").task();
  for (const char* next : {"job-1 b", "job-2 b", "job-1 c"}) {
    order.push_back(task.profile().kernels(0).key());
    // Whose question was answered asks the next one at once.
    Submit(next, "alice", std::string(next, 5));
    task = Complete("w1", task, Success()).task();
  }
  EXPECT_THAT(order, ElementsAre("job-1 a", "job-2 a", "job-1 b"));
}

TEST_F(WorkerPoolTest, CountsIdleWorkersOfADevice) {
  Submit("a");
  Idle("w1");
  Idle("w2");
  const std::vector<DeviceAvailability> devices = pool_.Devices();
  ASSERT_THAT(devices, SizeIs(1));
  EXPECT_EQ(devices[0].workers, 2);
  EXPECT_EQ(devices[0].workers_idle, 1);
}

TEST_F(WorkerPoolTest, TellsHowLongAJobWaitedForAnothersTask) {
  Submit("a", "", "job-1");
  const worker::v1::Task a = Idle("w1").task();
  Submit("b", "", "job-2");
  Work("w1", a, absl::Seconds(20));
  // Also while it waits.
  EXPECT_EQ(pool_.WaitedForOthers("job-2"), absl::Seconds(20));
  const worker::v1::Task b = Complete("w1", a, Success()).task();
  EXPECT_EQ(b.profile().kernels(0).key(), "b");
  Work("w1", b, absl::Seconds(30));
  Complete("w1", b, Success());
  EXPECT_EQ(pool_.WaitedForOthers("job-2"), absl::Seconds(20));
  EXPECT_EQ(pool_.WaitedForOthers("job-1"), absl::ZeroDuration());
  pool_.ForgetJob("job-2");
  EXPECT_EQ(pool_.WaitedForOthers("job-2"), absl::ZeroDuration());
}

TEST_F(WorkerPoolTest, AJobThatWaitsForADeviceThatIsGoneWaitsForNoOther) {
  Submit("a", "", "job-1");
  clock_.Advance(absl::Seconds(20));
  EXPECT_EQ(pool_.WaitedForOthers("job-1"), absl::ZeroDuration());
  // It is served again, and its worker is lost at another's task.
  Submit("first", "", "job-2");
  const worker::v1::Task task = Idle("w1").task();
  Submit("second", "", "job-3");
  Work("w1", task, absl::Seconds(5));
  pool_.DropWorker("w1");
  clock_.Advance(absl::Seconds(20));
  EXPECT_EQ(pool_.WaitedForOthers("job-3"), absl::Seconds(5));
}

// Otherwise a job could have all the time that it likes.
TEST_F(WorkerPoolTest, AJobDoesNotWaitForOthersWhileAWorkerIsAtATaskOfItsOwn) {
  Submit("a", "", "job-1");
  Submit("shared", "", "job-2");
  const worker::v1::Task a = Idle("w1").task();
  Submit("b", "", "job-1");
  Submit("a", "", "job-2");
  Work("w1", a, absl::Seconds(20));
  EXPECT_EQ(pool_.WaitedForOthers("job-1"), absl::ZeroDuration());
  EXPECT_EQ(pool_.WaitedForOthers("job-2"), absl::ZeroDuration());
}

TEST_F(WorkerPoolTest, AWithdrawnTaskWaitsForNobody) {
  Submit("a", "", "job-1");
  const worker::v1::Task a = Idle("w1").task();
  const int64_t b = Submit("b", "", "job-2");
  Work("w1", a, absl::Seconds(5));
  pool_.Withdraw(b);
  Work("w1", a, absl::Seconds(20));
  EXPECT_EQ(pool_.WaitedForOthers("job-2"), absl::Seconds(5));
}

}  // namespace
}  // namespace plait
