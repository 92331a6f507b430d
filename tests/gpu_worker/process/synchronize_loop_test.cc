#include "gpu_worker/process/synchronize_loop.h"

#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "base/blob_path.h"
#include "proto/wire/digest.h"

namespace plait {
namespace {

using testing::HasSubstr;

// A device whose kernels do what the test says when they are loaded.
class ScriptedExecutor : public Executor {
 public:
  explicit ScriptedExecutor(std::function<void()> on_load) : on_load_(std::move(on_load)) {
    device_.id = "cpu";
    device_.fingerprint = "scripted";
    device_.threads = 1;
    device_.memory_bytes = int64_t{1} << 30;
  }

  const DeviceDescription& device() const override { return device_; }
  absl::Status CheckHealth() override { return health; }

  absl::Status health;

 private:
  absl::StatusOr<std::unique_ptr<Executable>> LoadChecked(const Graph&, const Plan&,
                                                          const WeightSource&) override {
    on_load_();
    return absl::UnimplementedError("no kernels here");
  }

  const std::function<void()> on_load_;
  DeviceDescription device_;
};

// Answers as the test says, one call at a time, and keeps what it was told.
class ScriptedServer : public worker::v1::WorkerService::Service {
 public:
  using Answer = std::function<grpc::Status(const worker::v1::SynchronizeRequest& request,
                                            worker::v1::SynchronizeResponse& response)>;

  explicit ScriptedServer(Answer answer) : answer_(std::move(answer)) {
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port_);
    builder.RegisterService(this);
    server_ = builder.BuildAndStart();
  }

  grpc::Status Synchronize(grpc::ServerContext*, const worker::v1::SynchronizeRequest* request,
                           worker::v1::SynchronizeResponse* response) override {
    absl::MutexLock lock(&mutex_);
    heard_.push_back(*request);
    return answer_(*request, *response);
  }

  std::shared_ptr<grpc::Channel> Channel() const {
    return grpc::CreateChannel("127.0.0.1:" + std::to_string(port_),
                               grpc::InsecureChannelCredentials());
  }

  // The last result of the task that a worker sent; none when it sent none.
  worker::v1::TaskResult ResultOf(const std::string& task_id) {
    absl::MutexLock lock(&mutex_);
    worker::v1::TaskResult result;
    for (const worker::v1::SynchronizeRequest& request : heard_) {
      if (request.completed().task_id() == task_id) result = request.completed().result();
    }
    return result;
  }

 private:
  const Answer answer_;
  absl::Mutex mutex_;
  std::vector<worker::v1::SynchronizeRequest> heard_ ABSL_GUARDED_BY(mutex_);
  int port_ = 0;
  std::unique_ptr<grpc::Server> server_;  // last: calls end before what they use
};

// Ends the loop: a server that refuses once refuses always.
grpc::Status Refuse() { return {grpc::StatusCode::PERMISSION_DENIED, "the test is over"}; }

// Two kernels, so that there is a moment between them.
worker::v1::Task TwoKernels(double deadline_seconds) {
  worker::v1::Task task;
  task.set_task_id("task-1");
  task.set_attempt(1);
  task.set_deadline_seconds(deadline_seconds);
  task.mutable_profile()->set_device_fingerprint("scripted");
  for (int i = 0; i < 2; ++i) {
    worker::v1::KernelRequest& kernel = *task.mutable_profile()->add_kernels();
    kernel.set_family("reference");
    kernel.set_width(1);
    kernel.add_formats("plain");
    kernel.add_formats("plain");
    kernel.set_graph_text(
        "graph {\n  input %a: float32[4]\n  %b: float32[4] = Relu(%a)\n  output %b\n}\n");
  }
  return task;
}

class SynchronizeLoopTest : public testing::Test {
 protected:
  SynchronizeLoopTest() {
    options_.worker_id = "w1";
    options_.heartbeat_interval = absl::Milliseconds(20);
    options_.give_up = [this](absl::string_view why) {
      why_given_up_ = std::string(why);
      gave_up_.Notify();
    };
  }

  SynchronizeOptions options_;
  std::string why_given_up_;
  absl::Notification gave_up_;
};

// What the server of a cancelled job answers: idle, while the worker says that it works.
TEST_F(SynchronizeLoopTest, LeavesATaskThatTheServerDoesNotWantAnyMore) {
  int calls_executing = 0;
  absl::Notification was_told;
  int kernels = 0;
  ScriptedServer server([&](const auto& request, auto& response) {
    if (request.has_completed()) return Refuse();
    if (request.has_idle()) *response.mutable_task() = TwoKernels(0);
    if (request.has_executing()) {
      response.mutable_idle();
      // Two are enough to be asked; the third one comes after that.
      if (++calls_executing == 3) was_told.Notify();
    }
    return grpc::Status::OK;
  });
  ScriptedExecutor executor([&] {
    ++kernels;
    was_told.WaitForNotification();
  });
  EXPECT_TRUE(absl::IsPermissionDenied(SynchronizeForever(executor, server.Channel(), options_)));
  EXPECT_EQ(kernels, 1);
  EXPECT_EQ(server.ResultOf("task-1").error().code(),
            static_cast<int>(absl::StatusCode::kCancelled));
  EXPECT_FALSE(gave_up_.HasBeenNotified());
}

TEST_F(SynchronizeLoopTest, GivesUpWhenATaskThatIsNotWantedDoesNotEnd) {
  ScriptedServer server([&](const auto& request, auto& response) {
    if (request.has_completed()) return Refuse();
    if (request.has_idle()) *response.mutable_task() = TwoKernels(0);
    return grpc::Status::OK;
  });
  ScriptedExecutor executor([&] { gave_up_.WaitForNotification(); });
  EXPECT_TRUE(absl::IsPermissionDenied(SynchronizeForever(executor, server.Channel(), options_)));
  EXPECT_THAT(why_given_up_, HasSubstr("does not want"));
}

TEST_F(SynchronizeLoopTest, ReportsATaskThatIsPastItsDeadlineBeforeItGivesUp) {
  ScriptedServer server([&](const auto& request, auto& response) {
    if (request.has_completed() && !request.prefer_being_idle()) return Refuse();
    if (!request.has_completed()) *response.mutable_task() = TwoKernels(0.1);
    return grpc::Status::OK;
  });
  worker::v1::TaskResult told;
  ScriptedExecutor executor([&] {
    gave_up_.WaitForNotification();
    told = server.ResultOf("task-1");
  });
  EXPECT_TRUE(absl::IsPermissionDenied(SynchronizeForever(executor, server.Channel(), options_)));
  EXPECT_EQ(told.error().code(), static_cast<int>(absl::StatusCode::kDeadlineExceeded));
  EXPECT_TRUE(told.error().hangs());
  EXPECT_THAT(why_given_up_, HasSubstr("deadline"));
}

TEST_F(SynchronizeLoopTest, EndsATaskAtItsDeadlineBetweenTwoKernels) {
  ScriptedServer server([&](const auto& request, auto& response) {
    if (request.has_completed()) return Refuse();
    *response.mutable_task() = TwoKernels(0.1);
    return grpc::Status::OK;
  });
  ScriptedExecutor executor([] { absl::SleepFor(absl::Milliseconds(140)); });
  EXPECT_TRUE(absl::IsPermissionDenied(SynchronizeForever(executor, server.Channel(), options_)));
  EXPECT_EQ(server.ResultOf("task-1").error().code(),
            static_cast<int>(absl::StatusCode::kDeadlineExceeded));
  EXPECT_FALSE(server.ResultOf("task-1").error().hangs());
  EXPECT_FALSE(gave_up_.HasBeenNotified());
}

// After such an error a GPU does nothing any more for the process that met it.
TEST_F(SynchronizeLoopTest, EndsWhenItsDeviceHasFailed) {
  ScriptedServer server([&](const auto& request, auto& response) {
    // Also where the server has the next task already: it is for a worker whose device works.
    EXPECT_EQ(request.prefer_being_idle(), request.has_completed());
    *response.mutable_task() = TwoKernels(0);
    return grpc::Status::OK;
  });
  ScriptedExecutor executor([] {});
  executor.health = absl::InternalError("cuCtxSynchronize: an illegal memory access");
  const absl::Status ended = SynchronizeForever(executor, server.Channel(), options_);
  EXPECT_TRUE(absl::IsDataLoss(ended)) << ended;
  const worker::v1::TaskError error = server.ResultOf("task-1").error();
  EXPECT_EQ(error.code(), static_cast<int>(absl::StatusCode::kAborted));
  EXPECT_THAT(error.message(), HasSubstr("illegal memory access"));
}

TEST_F(SynchronizeLoopTest, EndsOtherwiseWhenItsDeviceIsLost) {
  ScriptedServer server([&](const auto&, auto& response) {
    *response.mutable_task() = TwoKernels(0);
    return grpc::Status::OK;
  });
  ScriptedExecutor executor([] {});
  executor.health = absl::UnavailableError("cuCtxSynchronize: the device is there no more");
  const absl::Status ended = SynchronizeForever(executor, server.Channel(), options_);
  EXPECT_TRUE(absl::IsNotFound(ended)) << ended;
  EXPECT_EQ(server.ResultOf("task-1").error().code(), static_cast<int>(absl::StatusCode::kAborted));
}

TEST_F(SynchronizeLoopTest, GoesOnAfterAFailureThatTheDeviceSurvives) {
  int tasks = 0;
  ScriptedServer server([&](const auto& request, auto& response) {
    if (request.has_completed() && ++tasks == 2) return Refuse();
    *response.mutable_task() = TwoKernels(0);
    return grpc::Status::OK;
  });
  ScriptedExecutor executor([] {});
  EXPECT_TRUE(absl::IsPermissionDenied(SynchronizeForever(executor, server.Channel(), options_)));
  EXPECT_TRUE(server.ResultOf("task-1").has_profile());
}

// Its graph is no graph, which is found once the blobs are there.
worker::v1::Task TaskWithBlobs(const std::vector<Digest>& blobs) {
  worker::v1::Task task;
  task.set_task_id("task-1");
  *task.mutable_weights() = wire::DigestToProto(blobs[0]);
  *task.mutable_model() = wire::DigestToProto(blobs[1]);
  task.mutable_measure()->add_candidates()->set_graph_text("no graph");
  return task;
}

// This server sends no blobs.
TEST_F(SynchronizeLoopTest, ReadsBlobsInTheServersFolder) {
  const std::string folder = testing::TempDir() + "/plait_blobs_of_loop";
  std::vector<Digest> blobs;
  for (const std::string bytes : {"plait weights 1\n\n", "a model"}) {
    blobs.push_back(DigestOf(bytes));
    const std::filesystem::path path = BlobPath(folder, blobs.back());
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << bytes;
  }
  ScriptedServer server([&](const auto& request, auto& response) {
    if (request.has_completed()) return Refuse();
    *response.mutable_task() = TaskWithBlobs(blobs);
    return grpc::Status::OK;
  });
  ScriptedExecutor executor([] {});
  EXPECT_FALSE(SynchronizeForever(executor, server.Channel(), options_).ok());
  EXPECT_EQ(server.ResultOf("task-1").error().code(),
            static_cast<int>(absl::StatusCode::kUnimplemented));
  options_.blobs_folder = folder;
  EXPECT_FALSE(SynchronizeForever(executor, server.Channel(), options_).ok());
  EXPECT_THAT(server.ResultOf("task-1").error().message(), HasSubstr("graph"));
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace plait
