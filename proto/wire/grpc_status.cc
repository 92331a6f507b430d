#include "proto/wire/grpc_status.h"

#include <algorithm>
#include <string>

#include "base/limits.h"
#include "plait/internal/rpc_status.pb.h"
#include "proto/wire/error.h"
#include "proto/wire/error_details.h"

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

// In the order in which they are sent: a status does not keep one of its own.
constexpr absl::string_view kDetailUrls[] = {kErrorInfoUrl, kRetryInfoUrl, kBadRequestUrl,
                                             kPreconditionFailureUrl};

// A proxy may have added an ErrorInfo of its own, whose reason means nothing here.
bool IsOurs(const google::protobuf::Any& detail) {
  const absl::string_view type_url = detail.type_url();
  if (type_url == kErrorInfoUrl) {
    internal::ErrorInfo info;
    return info.ParseFromString(detail.value()) && info.domain() == kErrorDomain;
  }
  return std::find(std::begin(kDetailUrls), std::end(kDetailUrls), type_url) !=
         std::end(kDetailUrls);
}

}  // namespace

grpc::Status ToGrpcStatus(const absl::Status& status) {
  if (status.ok()) return grpc::Status::OK;
  // An error to which nobody gave a reason gets the one that its code stands for.
  const absl::Status reasoned = WithReason(status, ReasonOf(status));
  internal::Status details;
  details.set_code(static_cast<int>(status.code()));
  // A client's library refuses details that do not repeat gRPC's own code and message.
  details.set_message(ValidUtf8(status.message(), kStatusMessageBytesMax));
  for (const absl::string_view type_url : kDetailUrls) {
    const auto payload = reasoned.GetPayload(type_url);
    if (!payload) continue;
    google::protobuf::Any& detail = *details.add_details();
    detail.set_type_url(std::string(type_url));
    detail.set_value(std::string(*payload));
  }
  return grpc::Status(static_cast<grpc::StatusCode>(status.code()), details.message(),
                      details.SerializeAsString());
}

absl::Status FromGrpcStatus(const grpc::Status& status) {
  if (status.ok()) return absl::OkStatus();
  const int number = static_cast<int>(status.error_code());
  // A newer server may send codes that this program has no name for.
  const bool known = number > 0 && number <= kCodeMax;
  absl::Status result(known ? static_cast<absl::StatusCode>(number) : absl::StatusCode::kUnknown,
                      status.error_message());
  // They may be another program's, or a proxy's.
  internal::Status details;
  if (!details.ParseFromString(status.error_details())) return result;
  for (const google::protobuf::Any& detail : details.details()) {
    if (IsOurs(detail)) result.SetPayload(detail.type_url(), absl::Cord(detail.value()));
  }
  return result;
}

}  // namespace plait::wire
