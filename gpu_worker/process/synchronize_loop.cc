#include "gpu_worker/process/synchronize_loop.h"

#include <algorithm>
#include <cstdio>
#include <stop_token>
#include <thread>
#include <utility>

#include <unistd.h>

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
#include "proto/wire/worker_protocol.h"

namespace plait {
namespace {

// Calls without the task in their answers before it is given up.
constexpr int kUnwantedCallsMin = 2;
// Calls that a task gets to end after it was asked to.
constexpr int kStopCallsMax = 3;
constexpr absl::Duration kPauseMin = absl::Milliseconds(50);
constexpr absl::Duration kPauseMax = absl::Seconds(2);
// Longer than the server holds an idle worker's call.
constexpr absl::Duration kCallTimeout = absl::Seconds(10);

// The limit is checked before anything arrives, and the digest after everything has: a worker
// trusts neither the size nor the bytes.
absl::StatusOr<std::shared_ptr<const MappedBlob>> Download(v1::BlobService::Stub& stub,
                                                           const std::string& worker_id,
                                                           const v1::Digest& proto) {
  PLAIT_ASSIGN_OR_RETURN(const Digest digest, wire::DigestFromProto(proto));
  if (digest.size_bytes > kModelBytesMax) {
    return absl::ResourceExhaustedError("the blob is larger than the limit");
  }
  PLAIT_ASSIGN_OR_RETURN(BlobFile file, BlobFile::Create(digest));
  grpc::ClientContext context;
  context.AddMetadata(wire::kWorkerIdKey, worker_id);
  v1::DownloadBlobRequest request;
  *request.mutable_digest() = proto;
  const auto reader = stub.DownloadBlob(&context, request);
  v1::DownloadBlobResponse chunk;
  absl::Status kept;
  while (kept.ok() && reader->Read(&chunk)) kept = file.Append(chunk.data());
  if (!kept.ok()) context.TryCancel();
  const absl::Status ended = wire::FromGrpcStatus(reader->Finish());
  PLAIT_RETURN_IF_ERROR(kept);
  PLAIT_RETURN_IF_ERROR(ended);
  return file.Map();
}

// Where the server keeps its blobs, or over the wire.
absl::StatusOr<std::shared_ptr<const MappedBlob>> Fetch(v1::BlobService::Stub& stub,
                                                        const SynchronizeOptions& options,
                                                        const v1::Digest& proto) {
  if (!options.blobs_folder.empty()) {
    PLAIT_ASSIGN_OR_RETURN(const Digest digest, wire::DigestFromProto(proto));
    absl::StatusOr<std::shared_ptr<const MappedBlob>> blob =
        MappedBlob::OfServer(options.blobs_folder, digest);
    if (blob.ok()) return blob;
  }
  return Download(stub, options.worker_id, proto);
}

worker::v1::TaskResult ErrorResult(absl::StatusCode code, std::string message) {
  worker::v1::TaskResult result;
  result.mutable_error()->set_code(static_cast<int>(code));
  result.mutable_error()->set_message(std::move(message));
  return result;
}

worker::v1::TaskResult DeadlineResult(double deadline_seconds) {
  return ErrorResult(
      absl::StatusCode::kDeadlineExceeded,
      absl::StrCat("the task took longer than its ", deadline_seconds, " s (task_seconds_max)"));
}

worker::v1::TaskResult HangResult(double deadline_seconds) {
  worker::v1::TaskResult result = DeadlineResult(deadline_seconds);
  result.mutable_error()->set_hangs(true);
  result.mutable_error()->mutable_message()->append(" and could not be stopped");
  return result;
}

// Calls the server while a task runs, from construction to destruction, hears whether the task is
// still wanted, and ends one that is not or that takes too long: first by asking, then by force.
class Heartbeat {
 public:
  // Both outlive it.
  Heartbeat(worker::v1::WorkerService::Stub& stub, const SynchronizeOptions& options,
            worker::v1::SynchronizeRequest executing, const worker::v1::Task& task)
      : stub_(stub),
        options_(options),
        request_(std::move(executing)),
        deadline_seconds_(task.deadline_seconds()),
        began_(SystemClock().Monotonic()),
        thread_([this] { Run(); }) {}
  ~Heartbeat() { End(); }
  Heartbeat(const Heartbeat&) = delete;
  Heartbeat& operator=(const Heartbeat&) = delete;

  // Requested when the task should end.
  std::stop_token stop() const { return stop_.get_token(); }

  // When the server answered last, on the monotonic clock.
  absl::Duration answered_at() {
    absl::MutexLock lock(&mutex_);
    return answered_at_;
  }

  // Calls no more.
  void End() {
    {
      absl::MutexLock lock(&mutex_);
      ended_ = true;
    }
    if (thread_.joinable()) thread_.join();
  }

  bool IsOverdue() const {
    return deadline_seconds_ > 0 &&
           SystemClock().Monotonic() - began_ > absl::Seconds(deadline_seconds_);
  }

 private:
  void Run() {
    // Calls after each other whose answer did not name the task; one may be an old answer.
    int unwanted_calls = 0;
    int overdue_calls = 0;
    while (!Ended()) {
      worker::v1::SynchronizeResponse response;
      if (Call(request_, response).ok()) {
        NoteAnswer();
        unwanted_calls = IsWanted(response) ? 0 : unwanted_calls + 1;
      }
      if (IsOverdue()) ++overdue_calls;
      if (unwanted_calls >= kUnwantedCallsMin || overdue_calls > 0) stop_.request_stop();
      if (overdue_calls > kStopCallsMax) {
        ReportOverdue();
        return options_.give_up("the task is past its deadline and cannot be stopped");
      }
      if (unwanted_calls > kUnwantedCallsMin + kStopCallsMax) {
        return options_.give_up("the server does not want the task, which cannot be stopped");
      }
    }
  }

  grpc::Status Call(const worker::v1::SynchronizeRequest& request,
                    worker::v1::SynchronizeResponse& response) {
    grpc::ClientContext context;
    context.set_deadline(absl::ToChronoTime(absl::Now() + options_.heartbeat_interval));
    return stub_.Synchronize(&context, request, &response);
  }

  bool IsWanted(const worker::v1::SynchronizeResponse& response) const {
    return response.task().task_id() == request_.executing().task_id() &&
           response.task().attempt() == request_.executing().attempt();
  }

  // Otherwise the server would take the task for one that this worker died of, and repeat it.
  void ReportOverdue() {
    worker::v1::SynchronizeRequest request = request_;
    const worker::v1::Executing executing = request.executing();
    worker::v1::Completed& completed = *request.mutable_completed();
    completed.set_task_id(executing.task_id());
    completed.set_attempt(executing.attempt());
    *completed.mutable_result() = HangResult(deadline_seconds_);
    // The answer may hold a task, which is not begun: the server hears no more of this worker.
    request.set_prefer_being_idle(true);
    worker::v1::SynchronizeResponse response;
    Call(request, response);
  }

  void NoteAnswer() {
    absl::MutexLock lock(&mutex_);
    answered_at_ = SystemClock().Monotonic();
  }

  bool Ended() {
    absl::MutexLock lock(&mutex_);
    return mutex_.AwaitWithTimeout(absl::Condition(&ended_), options_.heartbeat_interval);
  }

  worker::v1::WorkerService::Stub& stub_;
  const SynchronizeOptions& options_;
  const worker::v1::SynchronizeRequest request_;
  const double deadline_seconds_;  // 0: none
  const absl::Duration began_;
  std::stop_source stop_;
  absl::Mutex mutex_;
  bool ended_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Duration answered_at_ ABSL_GUARDED_BY(mutex_) = SystemClock().Monotonic();
  std::thread thread_;  // last, so that it starts when all else is ready
};

// Errors of the request itself, which repeating it cannot mend.
// Everything else, Unavailable above all, is what a server that restarts looks like.
bool IsRefusal(const absl::Status& status) {
  return absl::IsInvalidArgument(status) || absl::IsUnauthenticated(status) ||
         absl::IsPermissionDenied(status);
}

// Whether something in it failed, which may have been the device.
bool HasFailure(const worker::v1::TaskResult& result) {
  const auto failed = [](const auto& one) { return !one.error().empty(); };
  const auto& profiles = result.profile().profiles();
  const auto& candidates = result.measure().candidates();
  return result.has_error() || std::any_of(profiles.begin(), profiles.end(), failed) ||
         std::any_of(candidates.begin(), candidates.end(), failed);
}

bool IsCancelled(const worker::v1::TaskResult& result) {
  return result.error().code() == static_cast<int>(absl::StatusCode::kCancelled);
}

// DataLoss where the device does nothing for this process any more, NotFound where the driver has
// it no more.
absl::Status FailureOf(Executor& executor) {
  const absl::Status health = executor.CheckHealth();
  if (health.ok()) return health;
  const bool is_lost = absl::IsUnavailable(health);
  return absl::Status(
      is_lost ? absl::StatusCode::kNotFound : absl::StatusCode::kDataLoss,
      absl::StrCat("device \"", executor.device().id, "\" ", is_lost ? "is lost" : "has failed",
                   ", and its worker is started again: ", health.message()));
}

void Pause(absl::Duration duration) { absl::SleepFor(duration); }

}  // namespace

void EndProcess(absl::string_view why) {
  std::fprintf(stderr, "plait-worker: %s\n", std::string(why).c_str());
  // Not exit: the task's thread still uses what the destructors would end.
  _exit(kExitTaskHangs);
}

// One request object lives through the loop and says what the worker is: idle, executing or
// completed. The answer to "completed" is the server's receipt; until it has come, the result is
// sent again.
absl::Status SynchronizeForever(Executor& executor, std::shared_ptr<grpc::Channel> channel,
                                const SynchronizeOptions& options) {
  const auto worker = worker::v1::WorkerService::NewStub(channel);
  const auto blobs = v1::BlobService::NewStub(channel);
  TaskRunner runner(
      executor, [&](const v1::Digest& digest) { return Fetch(*blobs, options, digest); },
      options.family_version);
  worker::v1::SynchronizeRequest request;
  request.set_worker_id(options.worker_id);
  request.set_protocol_version(wire::kWorkerProtocolVersion);
  *request.mutable_device() = wire::DeviceToProto(executor.device());
  request.mutable_idle();
  absl::Duration answered_at = SystemClock().Monotonic();
  absl::Duration pause = kPauseMin;
  absl::Status device_failure;
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
    if (!device_failure.ok()) return device_failure;
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
      Heartbeat heartbeat(*worker, options, request, task);
      result = runner.Run(task, heartbeat.stop());
      if (HasFailure(result)) device_failure = FailureOf(executor);
      answered_at = heartbeat.answered_at();
      heartbeat.End();
      if (heartbeat.IsOverdue() && IsCancelled(result)) {
        result = DeadlineResult(task.deadline_seconds());
      }
    }
    if (!device_failure.ok()) {
      // As of a worker that died of it: what it says of the task's parts is not to be believed.
      result = ErrorResult(absl::StatusCode::kAborted, std::string(device_failure.message()));
      request.set_prefer_being_idle(true);
    }
    worker::v1::Completed& completed = *request.mutable_completed();
    completed.set_task_id(task.task_id());
    completed.set_attempt(task.attempt());
    *completed.mutable_result() = std::move(result);
  }
}

}  // namespace plait
