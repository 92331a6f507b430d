#include "server/search_child/connection.h"

#include <algorithm>
#include <utility>

#include <sys/socket.h>

#include "base/status_macros.h"
#include "proto/wire/task_error.h"

namespace plait {

ChildConnection::~ChildConnection() {
  if (!listener_.joinable()) return;
  // Ends the read in which the listener waits.
  shutdown(socket_, SHUT_RD);
  listener_.join();
}

absl::StatusOr<internal::Start> ChildConnection::ReadStart() {
  internal::ParentMessage message;
  PLAIT_RETURN_IF_ERROR(ReadFrame(socket_, reader_, &message));
  if (!message.has_start()) return absl::InvalidArgumentError("the first message is not Start");
  listener_ = std::thread([this] { Listen(); });
  return std::move(*message.mutable_start());
}

absl::Status ChildConnection::Send(const internal::ChildMessage& message) {
  PLAIT_ASSIGN_OR_RETURN(const std::string frame, FrameOf(message));
  // Each message as a whole, whichever thread sends it.
  absl::MutexLock lock(&write_mutex_);
  return WriteAll(socket_, frame);
}

absl::StatusOr<worker::v1::TaskResult> ChildConnection::Profile(worker::v1::ProfileTask task) {
  internal::ChildMessage message;
  const int64_t number = NextNumber();
  message.mutable_profile_request()->set_request_number(number);
  task.set_wait_seconds_max(WaitSecondsMax());
  *message.mutable_profile_request()->mutable_task() = std::move(task);
  PLAIT_RETURN_IF_ERROR(Send(message));
  return AwaitReply(number);
}

absl::StatusOr<worker::v1::TaskResult> ChildConnection::Measure(worker::v1::MeasureTask task) {
  internal::ChildMessage message;
  const int64_t number = NextNumber();
  message.mutable_measure_request()->set_request_number(number);
  task.set_wait_seconds_max(WaitSecondsMax());
  *message.mutable_measure_request()->mutable_task() = std::move(task);
  PLAIT_RETURN_IF_ERROR(Send(message));
  return AwaitReply(number);
}

absl::StatusOr<worker::v1::TaskResult> ChildConnection::MeasureModels(
    const std::string& runtime, worker::v1::MeasureModelsTask task) {
  internal::ChildMessage message;
  const int64_t number = NextNumber();
  message.mutable_measure_models_request()->set_request_number(number);
  message.mutable_measure_models_request()->set_runtime(runtime);
  *message.mutable_measure_models_request()->mutable_task() = std::move(task);
  PLAIT_RETURN_IF_ERROR(Send(message));
  return AwaitReply(number);
}

absl::StatusOr<absl::Duration> ChildConnection::StoppedTime() {
  {
    absl::MutexLock lock(&mutex_);
    stopped_time_.reset();
  }
  internal::ChildMessage message;
  message.mutable_stopped_time_request();
  PLAIT_RETURN_IF_ERROR(Send(message));
  absl::MutexLock lock(&mutex_);
  const auto is_over = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return disconnected_ || stopped_time_.has_value();
  };
  mutex_.Await(absl::Condition(&is_over));
  if (!stopped_time_.has_value()) return absl::UnavailableError("the daemon is gone");
  return *stopped_time_ + waited_;
}

void ChildConnection::Listen() {
  while (true) {
    internal::ParentMessage message;
    const absl::Status status = ReadFrame(socket_, reader_, &message);
    absl::MutexLock lock(&mutex_);
    if (!status.ok()) {
      // Whoever waits for a reply is told, and whoever asks later, too.
      disconnected_ = true;
      return;
    }
    if (message.has_profile_reply()) {
      internal::ProfileReply& reply = *message.mutable_profile_reply();
      replies_[reply.request_number()] = std::move(*reply.mutable_result());
    } else if (message.has_measure_reply()) {
      internal::MeasureReply& reply = *message.mutable_measure_reply();
      replies_[reply.request_number()] = std::move(*reply.mutable_result());
    } else if (message.has_measure_models_reply()) {
      internal::MeasureModelsReply& reply = *message.mutable_measure_models_reply();
      replies_[reply.request_number()] = std::move(*reply.mutable_result());
    } else if (message.has_stopped_time_reply()) {
      stopped_time_ = absl::Microseconds(message.stopped_time_reply().stopped_us());
    } else if (message.has_deadline()) {
      stop_requested_ = true;
    }
  }
}

absl::StatusOr<worker::v1::TaskResult> ChildConnection::AwaitReply(int64_t number) {
  absl::MutexLock lock(&mutex_);
  const auto is_over = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return disconnected_ || replies_.contains(number);
  };
  // Without a limit: a worker may take minutes, and a daemon that dies takes the child with it.
  mutex_.Await(absl::Condition(&is_over));
  const auto found = replies_.find(number);
  // A reply that came before the end is still good.
  if (found == replies_.end()) return absl::UnavailableError("the daemon is gone");
  worker::v1::TaskResult result = std::move(found->second);
  replies_.erase(found);
  NoteWait(result.waited_seconds());
  worker_peak_memory_bytes_ = std::max(worker_peak_memory_bytes_, result.peak_memory_bytes());
  if (result.has_error()) return wire::StatusOfTask(result.error());
  return result;
}

void ChildConnection::AllowWaits(absl::Duration of_task, absl::Duration of_all) {
  absl::MutexLock lock(&mutex_);
  task_wait_max_ = of_task;
  wait_left_ = of_all;
}

double ChildConnection::WaitSecondsMax() {
  absl::MutexLock lock(&mutex_);
  return absl::ToDoubleSeconds(std::min(wait_left_, task_wait_max_));
}

// A worker may say anything, also what is no number: no more counts than it was allowed.
void ChildConnection::NoteWait(double seconds) {
  if (!(seconds > 0)) return;
  const absl::Duration waited = std::min(absl::Seconds(seconds), wait_left_);
  wait_left_ -= waited;
  waited_ += waited;
}

int64_t ChildConnection::NextNumber() {
  absl::MutexLock lock(&mutex_);
  return ++last_number_;
}

}  // namespace plait
