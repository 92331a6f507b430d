#pragma once

#include "absl/status/status.h"
#include "optimizer/onnx/model_parts.h"

namespace plait {

// Fills `constants`, `weights` and `weightless` of `parts` from the initializers and Constant nodes
// of its graph. Values that the IR cannot hold (strings, sparse tensors, 4-bit integers) are left
// out: their Constant nodes and initializers stay opaque. Large initializers are hashed on up to
// `threads` threads.
// Errors: InvalidArgument naming the tensor or node.
absl::Status ReadConstants(int threads, ModelParts* parts);

}  // namespace plait
