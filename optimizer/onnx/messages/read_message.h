#pragma once

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "optimizer/onnx/messages/messages.h"

namespace plait {

// Reads serialized messages, which may come from anyone. What they would take in memory is counted
// before anything is allocated for it. Safe from any thread; the bytes are copied but where it says
// otherwise.

// Reads a model that passes CheckModelWire (protobuf_limits.h), whose errors it has.
absl::StatusOr<onnx::ModelProto> ReadModel(absl::string_view bytes);

// The same, but the raw data of the graph's initializers above kInlineConstantBytesMax are looked
// at where they lie: `bytes` must outlive the message and all copies of it.
absl::StatusOr<onnx::ModelProto> ReadModelLookingAtInitializers(absl::string_view bytes);

// Reads a message of another type: TensorProto, AttributeProto or NodeProto. `what` names the thing
// in an error.
// Errors: as those of CheckModelWire, but InvalidArgument when the bytes are too many.
template <typename Message>
absl::StatusOr<Message> ReadMessage(absl::string_view bytes, absl::string_view what);

}  // namespace plait
