#include "server/search_child/failure_reason.h"

#include "proto/wire/error.h"

namespace plait {

absl::Status ModelFailure(const absl::Status& status) {
  return wire::WithReason(status, absl::IsResourceExhausted(status)
                                      ? v1::ERROR_REASON_LIMIT_EXCEEDED
                                      : v1::ERROR_REASON_MODEL_REJECTED);
}

absl::Status SearchFailure(const absl::Status& status, const v1::OptimizeOptions& options) {
  switch (status.code()) {
    // What a log does not answer is the only thing that a search looks for.
    case absl::StatusCode::kNotFound:
    case absl::StatusCode::kFailedPrecondition:
      return wire::WithReason(status, options.has_measurement_log()
                                          ? v1::ERROR_REASON_INVALID_REQUEST
                                          : v1::ERROR_REASON_UNSUPPORTED);
    // The options were checked before the job was queued: what is malformed, the search has made.
    case absl::StatusCode::kInvalidArgument:
      return wire::WithReason(status, v1::ERROR_REASON_INTERNAL);
    default:
      return status;
  }
}

}  // namespace plait
