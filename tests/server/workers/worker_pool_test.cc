#include "server/workers/worker_pool.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/base/manual_clock.h"

namespace plait {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

v1::Device Cpu() {
  v1::Device device;
  device.set_id("cpu");
  device.set_fingerprint("cpu-1");
  return device;
}

worker::v1::Task ProfileTaskOf(const std::string& key) {
  worker::v1::Task task;
  task.mutable_profile()->add_kernels()->set_key(key);
  return task;
}

// Of this machine's processor, too.
v1::Device FastRuntime() {
  v1::Device runtime = Cpu();
  runtime.set_id("fast");
  runtime.set_runtime_version("1");
  return runtime;
}

worker::v1::Task ModelsTask() {
  worker::v1::Task models;
  models.mutable_measure_models()->set_rounds(1);
  return models;
}

class WorkerPoolTest : public testing::Test {
 protected:
  WorkerPoolTest()
      : pool_(clock_, {.silence_max = absl::Seconds(10),
                       .task_ended = nullptr,
                       .measuring_here = [this](bool on) { measuring_.push_back(on); }}) {}

  int64_t Submit(const std::string& key, const std::string& tenant = "",
                 const std::string& job_id = "") {
    return pool_.Submit(
        Cpu(), ProfileTaskOf(key),
        [this](const worker::v1::TaskResult& result) { results_.push_back(result); },
        {tenant, job_id});
  }

  // Lets time go by in which the worker is at `task`.
  void Work(const std::string& worker, const worker::v1::Task& task, absl::Duration time) {
    for (; time > absl::ZeroDuration(); time -= absl::Seconds(5)) {
      clock_.Advance(absl::Seconds(5));
      Executing(worker, task);
    }
  }

  worker::v1::SynchronizeRequest From(const std::string& worker) {
    worker::v1::SynchronizeRequest request;
    request.set_worker_id(worker);
    *request.mutable_device() = Cpu();
    request.mutable_idle();
    return request;
  }

  worker::v1::SynchronizeResponse Idle(const std::string& worker) {
    return pool_.Synchronize(From(worker), WorkerPlace::kThisHost);
  }

  worker::v1::SynchronizeResponse Complete(const std::string& worker, const worker::v1::Task& task,
                                           const worker::v1::TaskResult& result) {
    worker::v1::SynchronizeRequest request = From(worker);
    request.mutable_completed()->set_task_id(task.task_id());
    request.mutable_completed()->set_attempt(task.attempt());
    *request.mutable_completed()->mutable_result() = result;
    return pool_.Synchronize(request, WorkerPlace::kThisHost);
  }

  // A call of a worker that is still at `task`.
  worker::v1::SynchronizeResponse Executing(const std::string& worker,
                                            const worker::v1::Task& task) {
    worker::v1::SynchronizeRequest request = From(worker);
    request.mutable_executing()->set_task_id(task.task_id());
    request.mutable_executing()->set_attempt(task.attempt());
    return pool_.Synchronize(request, WorkerPlace::kThisHost);
  }

  static worker::v1::TaskResult Success() {
    worker::v1::TaskResult result;
    result.mutable_profile();
    return result;
  }

  static worker::v1::TaskResult Error(absl::StatusCode code) {
    worker::v1::TaskResult result;
    result.mutable_error()->set_code(static_cast<int>(code));
    result.mutable_error()->set_message("no luck");
    return result;
  }

  ManualClock clock_;
  std::vector<bool> measuring_;
  std::vector<worker::v1::TaskResult> results_;
  WorkerPool pool_;
};

TEST_F(WorkerPoolTest, GivesTheOldestTaskToAnIdleWorker) {
  Submit("a");
  Submit("b");
  const worker::v1::SynchronizeResponse response = Idle("w1");
  EXPECT_EQ(response.task().profile().kernels(0).key(), "a");
  EXPECT_EQ(response.task().attempt(), 1);
}

TEST_F(WorkerPoolTest, OneDeviceOfThisProcessorMeasuresAtATime) {
  const v1::Device runtime = FastRuntime();
  worker::v1::SynchronizeRequest request = From("r1");
  *request.mutable_device() = runtime;
  const worker::v1::Task models = ModelsTask();
  pool_.Submit(runtime, models, [](const worker::v1::TaskResult&) {});
  Submit("a");
  const worker::v1::Task task = Idle("w1").task();
  EXPECT_TRUE(pool_.Synchronize(request, WorkerPlace::kThisHost).has_idle());
  Complete("w1", task, Success());
  EXPECT_THAT(measuring_, ElementsAre(true, false));
  EXPECT_TRUE(pool_.Synchronize(request, WorkerPlace::kThisHost).task().has_measure_models());
  EXPECT_THAT(measuring_, ElementsAre(true, false, true));
  Submit("b");
  EXPECT_TRUE(Idle("w1").has_idle());
}

// It goes on for a moment, beside which nothing is to be measured.
TEST_F(WorkerPoolTest, TheProcessorIsTakenUntilAWithdrawnTaskHasEnded) {
  const v1::Device runtime = FastRuntime();
  worker::v1::SynchronizeRequest request = From("r1");
  *request.mutable_device() = runtime;
  const worker::v1::Task models = ModelsTask();
  const int64_t interest = Submit("a");
  const worker::v1::Task task = Idle("w1").task();
  pool_.Submit(runtime, models, [](const worker::v1::TaskResult&) {});
  pool_.Withdraw(interest);
  EXPECT_TRUE(pool_.Synchronize(request, WorkerPlace::kThisHost).has_idle());
  EXPECT_THAT(measuring_, ElementsAre(true));
  EXPECT_EQ(pool_.Devices()[0].workers_idle, 0);
  Idle("w1");
  EXPECT_TRUE(pool_.Synchronize(request, WorkerPlace::kThisHost).has_task());
}

// A thread of the server may hold the last call of a worker that was killed meanwhile.
TEST_F(WorkerPoolTest, AWorkerThatWasDroppedGetsNothing) {
  Idle("w1");
  pool_.DropWorker("w1");
  Submit("a");
  EXPECT_TRUE(Idle("w1").has_idle());
  EXPECT_TRUE(pool_.Workers().empty());
  EXPECT_TRUE(Idle("w2").has_task());
}

TEST_F(WorkerPoolTest, ARuntimeElsewhereWaitsForNobody) {
  const v1::Device runtime = FastRuntime();
  worker::v1::SynchronizeRequest request = From("r1");
  *request.mutable_device() = runtime;
  const worker::v1::Task models = ModelsTask();
  pool_.Submit(runtime, models, [](const worker::v1::TaskResult&) {});
  Submit("a");
  EXPECT_TRUE(Idle("w1").has_task());
  EXPECT_TRUE(pool_.Synchronize(request, WorkerPlace::kElsewhere).has_task());
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

TEST_F(WorkerPoolTest, SaysWhenTheProcessorIsBeingMeasured) {
  Submit("a");
  const worker::v1::Task task = Idle("w1").task();
  Complete("w1", task, Success());
  EXPECT_THAT(measuring_, ElementsAre(true, false));
}

// A search that stands still while a worker elsewhere measures only loses time.
TEST_F(WorkerPoolTest, AWorkerOfAnotherHostDisturbsNoSearchHere) {
  Submit("a");
  EXPECT_TRUE(pool_.Synchronize(From("w1"), WorkerPlace::kElsewhere).has_task());
  EXPECT_THAT(measuring_, IsEmpty());
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

}  // namespace
}  // namespace plait
