#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "onnx/onnx_pb.h"

namespace plait {

// The only calls into protobuf's parser and serializer for whole messages, and the one place that
// catches: protobuf's fatal errors are exceptions. Safe from any thread.

// Errors: InvalidArgument when `bytes` is no serialized `message`, is above 2 GiB, or nests more
// than 100 messages. `what` names the thing in the error.
absl::Status ParseProto(absl::string_view bytes, absl::string_view what,
                        google::protobuf::MessageLite* message);

// Deterministic: equal messages give equal bytes.
// Errors: ResourceExhausted when the result would exceed kModelBytesMax.
absl::StatusOr<std::string> SerializeProto(const google::protobuf::MessageLite& message,
                                           absl::string_view what);

}  // namespace plait
