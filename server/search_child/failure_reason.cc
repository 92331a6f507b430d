#include "server/search_child/failure_reason.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "proto/wire/error.h"

namespace plait {
namespace {

absl::Status WithKernelFailures(const absl::Status& status,
                                absl::Span<const std::string> kernel_failures) {
  if (kernel_failures.empty()) return status;
  return absl::Status(status.code(), absl::StrCat(status.message(), " (kernels failed: ",
                                                  absl::StrJoin(kernel_failures, "; "), ")"));
}

}  // namespace

absl::Status ModelFailure(const absl::Status& status) {
  return wire::WithReason(status, absl::IsResourceExhausted(status)
                                      ? v1::ERROR_REASON_LIMIT_EXCEEDED
                                      : v1::ERROR_REASON_MODEL_REJECTED);
}

absl::Status SearchFailure(const absl::Status& status, const v1::OptimizeOptions& options,
                           absl::Span<const std::string> kernel_failures) {
  switch (status.code()) {
    // What a log does not answer is the only thing that a search looks for.
    case absl::StatusCode::kNotFound:
    case absl::StatusCode::kFailedPrecondition:
      if (options.has_measurement_log()) {
        return wire::WithReason(status, v1::ERROR_REASON_INVALID_REQUEST);
      }
      return wire::WithReason(WithKernelFailures(status, kernel_failures),
                              v1::ERROR_REASON_UNSUPPORTED);
    // The options were checked before the job was queued: what is malformed, the search has made.
    case absl::StatusCode::kInvalidArgument:
      return wire::WithReason(status, v1::ERROR_REASON_INTERNAL);
    default:
      return status;
  }
}

}  // namespace plait
