#include "plait/worker/v1/worker.grpc.pb.h"
#include "proto/wire/worker_protocol.h"
#include "tests/server/services/services_fixture.h"

namespace plait {
namespace {

using WorkerStub = worker::v1::WorkerService::Stub;

class WorkerServiceTest : public ServicesTest {
 protected:
  WorkerServiceTest() {
    request_.set_worker_id("w1");
    request_.set_protocol_version(wire::kWorkerProtocolVersion);
    request_.mutable_device()->set_id("cpu");
    request_.mutable_device()->set_backend("cpu");
    request_.mutable_device()->set_cores(2);
    request_.mutable_device()->set_fingerprint("cpu-1");
    request_.mutable_idle();
  }

  absl::StatusOr<worker::v1::SynchronizeResponse> Synchronize() {
    return CallAsWorker(&WorkerStub::Synchronize, request_);
  }

  // Wants a kernel measured on the worker's device.
  void SubmitTask() {
    worker::v1::Task task;
    task.mutable_profile()->add_kernels()->set_key("kernel");
    pool_.Submit(request_.device(), task,
                 [this](const worker::v1::TaskResult& result) { results_.push_back(result); });
  }

  worker::v1::SynchronizeRequest request_;
  std::vector<worker::v1::TaskResult> results_;
};

TEST_F(WorkerServiceTest, GivesATaskAndTakesItsResult) {
  SubmitTask();
  const auto first = Synchronize();
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_EQ(first->task().profile().kernels(0).key(), "kernel");
  EXPECT_GE(first->next_synchronize_in_ms(), 1);
  worker::v1::Completed& completed = *request_.mutable_completed();
  completed.set_task_id(first->task().task_id());
  completed.set_attempt(first->task().attempt());
  completed.mutable_result()->mutable_profile();
  const auto second = Synchronize();
  ASSERT_TRUE(second.ok()) << second.status();
  EXPECT_TRUE(second->has_idle());
  EXPECT_EQ(results_.size(), 1u);
}

TEST_F(WorkerServiceTest, TellsAWorkerAgainThatMissedTheAnswer) {
  SubmitTask();
  const auto first = Synchronize();
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_EQ(Synchronize()->task().task_id(), first->task().task_id());
}

TEST_F(WorkerServiceTest, GivesNothingToAWorkerThatIsAboutToStop) {
  SubmitTask();
  request_.set_prefer_being_idle(true);
  EXPECT_TRUE(Synchronize()->has_idle());
  EXPECT_EQ(pool_.Workers().size(), 1u);
}

TEST_F(WorkerServiceTest, AnswersAnIdleWorkerAtOnceWhenItDrains) {
  draining_ = true;
  pool_.Drain();
  SubmitTask();
  EXPECT_TRUE(Synchronize()->has_idle());
}

TEST_F(WorkerServiceTest, RefusesAClientThatSaysItIsAWorker) {
  SubmitTask();
  for (const char* tenant : {"", "alice", "plait-worker"}) {
    EXPECT_THAT(Call(&WorkerStub::Synchronize, request_, tenant).status(),
                testing::AllOf(HasReason(v1::ERROR_REASON_PERMISSION_DENIED), Says("workers")));
  }
  EXPECT_EQ(pool_.Workers().size(), 0u);
}

TEST_F(WorkerServiceTest, RefusesMalformedWorkers) {
  const worker::v1::SynchronizeRequest right = request_;
  request_.set_worker_id("");
  EXPECT_THAT(Synchronize().status(), HasReason(v1::ERROR_REASON_INVALID_REQUEST));
  request_ = right;
  request_.mutable_device()->set_id("tpu");
  EXPECT_THAT(Synchronize().status(), HasReason(v1::ERROR_REASON_INVALID_REQUEST));
  request_ = right;
  request_.mutable_device()->set_fingerprint("");
  EXPECT_THAT(Synchronize().status(),
              testing::AllOf(HasReason(v1::ERROR_REASON_INVALID_REQUEST), Says("fingerprint")));
  request_ = right;
  request_.mutable_device()->set_cores(0);
  EXPECT_THAT(Synchronize().status(),
              testing::AllOf(HasReason(v1::ERROR_REASON_INVALID_REQUEST), Says("cores")));
  request_ = right;
  request_.mutable_device()->clear_backend();
  EXPECT_THAT(Synchronize().status(),
              testing::AllOf(HasReason(v1::ERROR_REASON_INVALID_REQUEST), Says("backend")));
  EXPECT_EQ(pool_.Workers().size(), 0u);
}

TEST_F(WorkerServiceTest, RefusesAWorkerOfAnotherVersion) {
  for (const int version : {0, 1, wire::kWorkerProtocolVersion + 1}) {
    request_.set_protocol_version(version);
    EXPECT_THAT(Synchronize().status(),
                testing::AllOf(HasReason(v1::ERROR_REASON_INVALID_REQUEST),
                               Says(absl::StrCat("protocol_version: must be 5, is ", version))));
  }
  EXPECT_EQ(pool_.Workers().size(), 0u);
}

// Its jobs would be accepted and fail.
TEST_F(WorkerServiceTest, RefusesADeviceThatNoSearchOfThisBuildCanUse) {
  request_.mutable_device()->set_backend("abacus");
  EXPECT_THAT(Synchronize().status(),
              testing::AllOf(HasReason(v1::ERROR_REASON_INVALID_REQUEST),
                             Says("device.backend: must be one of this build's backends (cpu")));
  EXPECT_EQ(pool_.Devices().size(), 0u);
}

}  // namespace
}  // namespace plait
