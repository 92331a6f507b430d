#include "proto/wire/grpc_status.h"

#include "base/limits.h"
#include "proto/wire/error.h"

namespace plait::wire {
namespace {

// Both follow google.rpc.Code; the casts below rest on it.
#define PLAIT_SAME_CODE(absl_name, grpc_name)                    \
  static_assert(static_cast<int>(absl::StatusCode::absl_name) == \
                static_cast<int>(grpc::StatusCode::grpc_name))
PLAIT_SAME_CODE(kOk, OK);
PLAIT_SAME_CODE(kCancelled, CANCELLED);
PLAIT_SAME_CODE(kUnknown, UNKNOWN);
PLAIT_SAME_CODE(kInvalidArgument, INVALID_ARGUMENT);
PLAIT_SAME_CODE(kDeadlineExceeded, DEADLINE_EXCEEDED);
PLAIT_SAME_CODE(kNotFound, NOT_FOUND);
PLAIT_SAME_CODE(kAlreadyExists, ALREADY_EXISTS);
PLAIT_SAME_CODE(kPermissionDenied, PERMISSION_DENIED);
PLAIT_SAME_CODE(kResourceExhausted, RESOURCE_EXHAUSTED);
PLAIT_SAME_CODE(kFailedPrecondition, FAILED_PRECONDITION);
PLAIT_SAME_CODE(kAborted, ABORTED);
PLAIT_SAME_CODE(kOutOfRange, OUT_OF_RANGE);
PLAIT_SAME_CODE(kUnimplemented, UNIMPLEMENTED);
PLAIT_SAME_CODE(kInternal, INTERNAL);
PLAIT_SAME_CODE(kUnavailable, UNAVAILABLE);
PLAIT_SAME_CODE(kDataLoss, DATA_LOSS);
PLAIT_SAME_CODE(kUnauthenticated, UNAUTHENTICATED);
#undef PLAIT_SAME_CODE

constexpr int kCodeMax = static_cast<int>(absl::StatusCode::kUnauthenticated);

}  // namespace

grpc::Status ToGrpcStatus(const absl::Status& status) {
  if (status.ok()) return grpc::Status::OK;
  v1::ErrorDetail detail;
  detail.set_reason(ReasonOf(status));
  // Twice, as gRPC's text and in the details: programs of other languages read either.
  detail.set_message(ValidUtf8(status.message(), kStatusMessageBytesMax));
  return grpc::Status(static_cast<grpc::StatusCode>(status.code()), detail.message(),
                      detail.SerializeAsString());
}

absl::Status FromGrpcStatus(const grpc::Status& status) {
  if (status.ok()) return absl::OkStatus();
  const int number = static_cast<int>(status.error_code());
  // A newer server may send codes that this program has no name for.
  const bool known = number > 0 && number <= kCodeMax;
  absl::Status result(known ? static_cast<absl::StatusCode>(number) : absl::StatusCode::kUnknown,
                      status.error_message());
  // The details may be another program's: they count only when they parse and name a reason.
  v1::ErrorDetail detail;
  if (status.error_details().empty() || !detail.ParseFromString(status.error_details()) ||
      detail.reason() == v1::ERROR_REASON_UNSPECIFIED) {
    return result;
  }
  return WithReason(result, detail.reason());
}

}  // namespace plait::wire
