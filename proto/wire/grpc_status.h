#pragma once

#include <grpcpp/support/status.h>

#include "absl/status/status.h"

// Statuses at the border of gRPC. All functions are pure and thread-safe.
namespace plait::wire {

// The same code; the message as valid UTF-8 of at most 1 KiB; both once more, with the reason and
// the details that the status carries, as a serialized google.rpc.Status in error_details.
grpc::Status ToGrpcStatus(const absl::Status& status);

// The inverse: reason and details are taken from error_details when these are a google.rpc.Status.
// Details that plait does not send are dropped; a code that is not known becomes Unknown.
absl::Status FromGrpcStatus(const grpc::Status& status);

}  // namespace plait::wire
