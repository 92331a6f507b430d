#pragma once

#include <grpcpp/support/status.h>

#include "absl/status/status.h"

// Statuses at the border of gRPC. All functions are pure and thread-safe.
namespace plait::wire {

// The same code; the message as valid UTF-8 of at most 1 KiB; the reason as a serialized
// ErrorDetail in error_details.
grpc::Status ToGrpcStatus(const absl::Status& status);

// The inverse: the reason is taken from error_details when they are an ErrorDetail; a code that is
// not known becomes Unknown.
absl::Status FromGrpcStatus(const grpc::Status& status);

}  // namespace plait::wire
