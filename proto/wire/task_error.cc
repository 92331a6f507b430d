#include "proto/wire/task_error.h"

#include "proto/wire/error.h"

namespace plait::wire {
namespace {

v1::ErrorReason ReasonOfTask(const worker::v1::TaskError& error) {
  switch (static_cast<absl::StatusCode>(error.code())) {
    case absl::StatusCode::kAborted:
      return v1::ERROR_REASON_CRASHED;
    case absl::StatusCode::kDeadlineExceeded:
      return v1::ERROR_REASON_DEADLINE;
    case absl::StatusCode::kUnavailable:
    // There are workers for the device, but none with its present driver and this build's kernels.
    case absl::StatusCode::kFailedPrecondition:
      return v1::ERROR_REASON_DEVICE_UNAVAILABLE;
    case absl::StatusCode::kResourceExhausted:
      return v1::ERROR_REASON_LIMIT_EXCEEDED;
    case absl::StatusCode::kUnimplemented:
      return v1::ERROR_REASON_UNSUPPORTED;
    // InvalidArgument too: the search made the task, so the client's request is not at fault.
    default:
      return v1::ERROR_REASON_INTERNAL;
  }
}

}  // namespace

absl::Status StatusOfTask(const worker::v1::TaskError& error) {
  // An input that the client gave does not fit. It keeps its code, which tells it from what the
  // search has made wrong.
  if (error.code() == static_cast<int>(absl::StatusCode::kOutOfRange)) {
    return WithReason(absl::OutOfRangeError(error.message()), v1::ERROR_REASON_INVALID_REQUEST);
  }
  // It keeps its code, by which a search does without what takes too long.
  if (error.hangs() && error.code() == static_cast<int>(absl::StatusCode::kDeadlineExceeded)) {
    return WithReason(absl::DeadlineExceededError(error.message()), v1::ERROR_REASON_CRASHED);
  }
  return Error(ReasonOfTask(error), error.message());
}

}  // namespace plait::wire
