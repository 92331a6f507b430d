#include "server/workers/worker_supervisor.h"

#include <csignal>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "server/telemetry/log.h"
#include "tests/base/manual_clock.h"

namespace plait {
namespace {

class WorkerSupervisorTest : public testing::Test {
 protected:
  WorkerSupervisorTest() : pool_(clock_, {}) {
    EXPECT_TRUE(SetLogLevel("off").ok());
    options_.program = PLAIT_FAKE_WORKER;
    options_.device = "cpu";
    options_.server_address = "unix:/nowhere";
    options_.backoff_min = absl::ZeroDuration();
    options_.restarted = [this] {
      absl::MutexLock lock(&mutex_);
      ++restarts_;
    };
  }

  // Waits for the process that the supervisor has started.
  static pid_t Await(WorkerSupervisor& supervisor, pid_t other_than) {
    pid_t process_id = 0;
    while (process_id == 0 || process_id == other_than) process_id = supervisor.process_id();
    return process_id;
  }

  // The first worker's call, which the fake one does not make.
  worker::v1::SynchronizeRequest FirstCall() {
    worker::v1::SynchronizeRequest request;
    request.set_worker_id(absl::StrCat("local-cpu-", getpid(), "-1"));
    request.mutable_idle();
    return request;
  }

  void AwaitRestart() {
    absl::MutexLock lock(&mutex_);
    const auto restarted = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return restarts_ > 0; };
    ASSERT_TRUE(mutex_.AwaitWithTimeout(absl::Condition(&restarted), absl::Minutes(1)));
  }

  ManualClock clock_;
  WorkerPool pool_;
  WorkerSupervisorOptions options_;
  absl::Mutex mutex_;
  int restarts_ ABSL_GUARDED_BY(mutex_) = 0;
};

TEST_F(WorkerSupervisorTest, RestartsAWorkerThatWasKilled) {
  WorkerSupervisor supervisor(pool_, clock_, options_);
  const pid_t first = Await(supervisor, 0);
  kill(first, SIGKILL);
  AwaitRestart();
  EXPECT_NE(Await(supervisor, first), first);
}

TEST_F(WorkerSupervisorTest, KillsAndRestartsAWorkerThatIsStopped) {
  WorkerSupervisor supervisor(pool_, clock_, options_);
  const pid_t first = Await(supervisor, 0);
  pool_.Synchronize(FirstCall(), WorkerPlace::kThisHost);
  kill(first, SIGSTOP);
  clock_.Advance(options_.silence_max + absl::Seconds(1));
  AwaitRestart();
  EXPECT_NE(Await(supervisor, first), first);
}

// A driver that begins, and libraries that are opened for the first time, take their time.
TEST_F(WorkerSupervisorTest, AWorkerHasLongerToCallForTheFirstTime) {
  ASSERT_GT(options_.start_max, options_.silence_max + absl::Seconds(2));
  WorkerSupervisor supervisor(pool_, clock_, options_);
  const pid_t first = Await(supervisor, 0);
  clock_.Advance(options_.start_max - absl::Seconds(1));
  absl::SleepFor(absl::Milliseconds(500));  // it looks every 100 ms
  EXPECT_EQ(supervisor.process_id(), first);
  clock_.Advance(absl::Seconds(2));
  AwaitRestart();
  EXPECT_NE(Await(supervisor, first), first);
}

// It calls as a healthy worker does, so silence does not tell.
TEST_F(WorkerSupervisorTest, KillsAWorkerThatCannotLeaveATaskThatNobodyWants) {
  WorkerSupervisor supervisor(pool_, clock_, options_);
  const pid_t first = Await(supervisor, 0);
  worker::v1::SynchronizeRequest request = FirstCall();
  request.mutable_executing()->set_task_id("task-of-nobody");
  pool_.Synchronize(request, WorkerPlace::kThisHost);
  clock_.Advance(options_.unwanted_max + absl::Milliseconds(1));
  pool_.Synchronize(request, WorkerPlace::kThisHost);
  AwaitRestart();
  EXPECT_NE(Await(supervisor, first), first);
}

TEST_F(WorkerSupervisorTest, EndsATaskThatTakesTooMuchMemoryTogetherWithItsWorker) {
  const worker::v1::SynchronizeRequest request = FirstCall();
  absl::Notification ended;
  worker::v1::TaskResult result;
  pool_.Submit(request.device(), worker::v1::Task(), [&](const worker::v1::TaskResult& given) {
    result = given;
    ended.Notify();
  });
  ASSERT_TRUE(pool_.Synchronize(request, WorkerPlace::kThisHost).has_task());
  options_.threads = 1;  // for which it takes 64 MiB
  options_.memory_bytes_max = int64_t{32} << 20;
  WorkerSupervisor supervisor(pool_, clock_, options_);
  ended.WaitForNotification();
  EXPECT_EQ(result.error().code(), static_cast<int>(absl::StatusCode::kResourceExhausted));
  EXPECT_THAT(result.error().message(), testing::HasSubstr("33554432 bytes (worker_memory_bytes)"));
  AwaitRestart();
}

// The system takes their pages back when others need them.
TEST_F(WorkerSupervisorTest, MappedFilesAreNoMemoryOfATask) {
  options_.instruction_set = "generic";  // for which it maps 64 MiB
  options_.memory_bytes_max = int64_t{32} << 20;
  WorkerSupervisor supervisor(pool_, clock_, options_);
  const pid_t first = Await(supervisor, 0);
  absl::SleepFor(absl::Milliseconds(500));
  EXPECT_EQ(supervisor.process_id(), first);
}

TEST_F(WorkerSupervisorTest, KillsItsWorkerWhenItEnds) {
  pid_t process_id = 0;
  {
    WorkerSupervisor supervisor(pool_, clock_, options_);
    process_id = Await(supervisor, 0);
  }
  EXPECT_NE(kill(process_id, 0), 0);
}

}  // namespace
}  // namespace plait
