#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/server/workers/worker_pool_fixture.h"

// One at a time measures on a processor, also of the devices that share it.

namespace plait {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

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

}  // namespace
}  // namespace plait
