#include "client/retry.h"

#include <algorithm>

#include "base/status_macros.h"
#include "proto/wire/error.h"

namespace plait {
namespace {

// Only UNAVAILABLE says that the call may not have been answered by anybody.
bool IsWorthRetrying(const absl::Status& status) {
  return absl::IsUnavailable(status) &&
         wire::ReasonOf(status) != v1::ERROR_REASON_DEVICE_UNAVAILABLE;
}

// An answer of the server's has a reason; a connection that broke has none.
bool HasReason(const absl::Status& status) {
  return status != absl::Status(status.code(), status.message());
}

// gRPC's server cancels the calls that meet its end. A client never cancels its own.
absl::Status WithoutForeignCancel(absl::Status status) {
  if (!absl::IsCancelled(status) || HasReason(status)) return status;
  return absl::UnavailableError("the server broke the call off");
}

}  // namespace

absl::Status Retrier::Run(const std::function<absl::Status()>& call) {
  attempts_ = 0;
  paused_ = absl::ZeroDuration();
  while (true) {
    absl::Status status = WithoutForeignCancel(call());
    if (!absl::IsUnavailable(status) || HasReason(status)) server_.Note();
    if (!IsWorthRetrying(status)) return status;
    if (policy_.server_end) PLAIT_RETURN_IF_ERROR(policy_.server_end());
    ++attempts_;
    if (server_.seen() ? paused_ >= policy_.absence_max : attempts_ >= policy_.attempts_max) {
      return status;
    }
    const int doublings = std::min(attempts_ - 1, 30);
    const absl::Duration pause =
        std::min(policy_.pause_max, policy_.pause_first * (int64_t{1} << doublings)) *
        random_.Uniform(0.5, 1);
    paused_ += pause;
    sleep_(pause);
  }
}

void Retrier::Progress() {
  server_.Note();
  attempts_ = 0;
  paused_ = absl::ZeroDuration();
}

}  // namespace plait
