#pragma once

#include <cstdint>

#include "optimizer/onnx/messages/messages.h"

namespace plait {

// What a ModelProto, NodeProto or AttributeProto takes in memory, about: all messages in it, with
// their strings and numbers. Looks at every field.
template <typename Message>
int64_t MemoryBytes(const Message& message);

}  // namespace plait
