#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "optimizer/onnx/messages/messages.h"

namespace plait {

// The bytes of a ModelProto, NodeProto, AttributeProto or TensorProto: fields by number, those that
// were kept among them. Equal messages give equal bytes, and protobuf's classes give the same.
// Memory is taken once, for the bytes. Safe from any thread.
// Errors: ResourceExhausted, naming it as `what`, when there would be more than kModelBytesMax.
template <typename Message>
absl::StatusOr<std::string> WriteMessage(const Message& message, absl::string_view what);

}  // namespace plait
