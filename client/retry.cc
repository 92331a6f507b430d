#include "client/retry.h"

#include <algorithm>

#include "proto/wire/error.h"

namespace plait {
namespace {

// Only UNAVAILABLE says that the call may not have been answered by anybody.
bool IsWorthRetrying(const absl::Status& status) {
  if (status.code() != absl::StatusCode::kUnavailable) return false;
  const v1::ErrorReason reason = wire::ReasonOf(status);
  // A connection that broke has no payload, and its code alone maps to the first reason with it.
  const bool has_reason = status != absl::Status(status.code(), status.message());
  return !has_reason ||
         (reason != v1::ERROR_REASON_DEVICE_UNAVAILABLE && reason != v1::ERROR_REASON_DRAINING);
}

}  // namespace

absl::Status Retrier::Run(const std::function<absl::Status()>& call) {
  attempts_ = 0;
  while (true) {
    absl::Status status = call();
    if (!IsWorthRetrying(status) || ++attempts_ >= policy_.attempts_max) return status;
    const int doublings = std::min(attempts_ - 1, 30);
    const absl::Duration pause =
        std::min(policy_.pause_max, policy_.pause_first * (int64_t{1} << doublings));
    sleep_(pause * random_.Uniform(0.5, 1));
  }
}

}  // namespace plait
