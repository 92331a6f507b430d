#include "gpu_worker/process/synchronize_loop.h"

#include <algorithm>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "base/clock.h"
#include "base/digest.h"
#include "base/limits.h"
#include "base/status_macros.h"
#include "gpu_worker/process/run_task.h"
#include "plait/v1/blob.grpc.pb.h"
#include "proto/wire/device.h"
#include "proto/wire/digest.h"
#include "proto/wire/grpc_status.h"

namespace plait {
namespace {

constexpr absl::Duration kHeartbeatInterval = absl::Seconds(1);
constexpr absl::Duration kPauseMin = absl::Milliseconds(50);
constexpr absl::Duration kPauseMax = absl::Seconds(2);
// Longer than the server holds an idle worker's call.
constexpr absl::Duration kCallTimeout = absl::Seconds(10);

// The limit is checked before anything is reserved, and the digest after everything has arrived: a
// worker trusts neither the size nor the bytes.
absl::StatusOr<std::string> Download(v1::BlobService::Stub& stub, const v1::Digest& proto) {
  PLAIT_ASSIGN_OR_RETURN(const Digest digest, wire::DigestFromProto(proto));
  if (digest.size_bytes > kModelBytesMax) {
    return absl::ResourceExhaustedError("the model is larger than the limit");
  }
  grpc::ClientContext context;
  context.AddMetadata("plait-tenant", "plait-worker");
  v1::DownloadBlobRequest request;
  *request.mutable_digest() = proto;
  const auto reader = stub.DownloadBlob(&context, request);
  std::string bytes;
  bytes.reserve(static_cast<size_t>(digest.size_bytes));
  v1::DownloadBlobResponse chunk;
  while (reader->Read(&chunk)) bytes += chunk.data();
  PLAIT_RETURN_IF_ERROR(wire::FromGrpcStatus(reader->Finish()));
  if (DigestOf(bytes) != digest) {
    return absl::DataLossError(absl::StrCat("model ", digest.ToString(), " arrived damaged"));
  }
  return bytes;
}

// Calls the server while a task runs, from construction to destruction.
class Heartbeat {
 public:
  Heartbeat(worker::v1::WorkerService::Stub& stub, worker::v1::SynchronizeRequest request)
      : stub_(stub), request_(std::move(request)), thread_([this] { Run(); }) {}
  ~Heartbeat() {
    {
      absl::MutexLock lock(&mutex_);
      ended_ = true;
    }
    thread_.join();
  }
  Heartbeat(const Heartbeat&) = delete;
  Heartbeat& operator=(const Heartbeat&) = delete;

 private:
  void Run() {
    while (!Ended()) {
      grpc::ClientContext context;
      context.set_deadline(absl::ToChronoTime(absl::Now() + kHeartbeatInterval));
      worker::v1::SynchronizeResponse response;
      // What the server wants meanwhile is asked again when the task is done.
      stub_.Synchronize(&context, request_, &response);
    }
  }

  bool Ended() {
    absl::MutexLock lock(&mutex_);
    return mutex_.AwaitWithTimeout(absl::Condition(&ended_), kHeartbeatInterval);
  }

  worker::v1::WorkerService::Stub& stub_;
  const worker::v1::SynchronizeRequest request_;
  absl::Mutex mutex_;
  bool ended_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;  // last, so that it starts when all else is ready
};

// Errors of the request itself, which repeating it cannot mend.
// Everything else, Unavailable above all, is what a server that restarts looks like.
bool IsRefusal(const absl::Status& status) {
  return absl::IsInvalidArgument(status) || absl::IsUnauthenticated(status) ||
         absl::IsPermissionDenied(status);
}

void Pause(absl::Duration duration) { absl::SleepFor(duration); }

}  // namespace

// One request object lives through the loop and says what the worker is: idle, executing or
// completed. The answer to "completed" is the server's receipt; until it has come, the result is
// sent again.
absl::Status SynchronizeForever(Executor& executor, std::shared_ptr<grpc::Channel> channel,
                                const SynchronizeOptions& options) {
  const auto worker = worker::v1::WorkerService::NewStub(channel);
  const auto blobs = v1::BlobService::NewStub(channel);
  TaskRunner runner(
      executor, [&](const v1::Digest& digest) { return Download(*blobs, digest); },
      options.family_version);
  worker::v1::SynchronizeRequest request;
  request.set_worker_id(options.worker_id);
  *request.mutable_device() = wire::DeviceToProto(executor.device());
  request.mutable_idle();
  absl::Duration answered_at = SystemClock().Monotonic();
  absl::Duration pause = kPauseMin;
  while (true) {
    grpc::ClientContext context;
    context.set_deadline(absl::ToChronoTime(absl::Now() + kCallTimeout));
    worker::v1::SynchronizeResponse response;
    absl::Status status = wire::FromGrpcStatus(worker->Synchronize(&context, request, &response));
    if (!status.ok()) {
      // A server that refuses once refuses always; one that is not there may come back.
      if (IsRefusal(status)) return status;
      if (SystemClock().Monotonic() - answered_at > options.server_silence_max) return status;
      Pause(pause);
      pause = std::min(pause * 2, kPauseMax);
      continue;
    }
    answered_at = SystemClock().Monotonic();
    pause = kPauseMin;
    if (!response.has_task()) {
      const bool was_idle = request.has_idle();
      request.mutable_idle();
      // After a task there may be the next one at once.
      if (was_idle) {
        Pause(absl::Milliseconds(std::clamp<int64_t>(response.next_synchronize_in_ms(), 1, 1000)));
      }
      continue;
    }
    const worker::v1::Task& task = response.task();
    worker::v1::Executing& executing = *request.mutable_executing();
    executing.set_task_id(task.task_id());
    executing.set_attempt(task.attempt());
    worker::v1::TaskResult result;
    {
      const Heartbeat heartbeat(*worker, request);
      result = runner.Run(task);
    }
    worker::v1::Completed& completed = *request.mutable_completed();
    completed.set_task_id(task.task_id());
    completed.set_attempt(task.attempt());
    *completed.mutable_result() = std::move(result);
  }
}

}  // namespace plait
