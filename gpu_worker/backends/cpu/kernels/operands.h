#pragma once

#include "gpu_worker/backends/cpu/run/kernel.h"

namespace plait {

// What several families ask of a kernel's tensors while it loads.

// a / b, rounded up. REQUIRES: neither is negative, and b is not 0.
inline int64_t CeilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

// LoadContext::Find of a tensor that lies in `format` as far as that applies to its type.
// Errors: also InvalidArgument (LoadContext::Refuse) where it lies otherwise.
absl::StatusOr<Operand> FindIn(LoadContext* context, TensorId tensor, Format format);

// The third input of a convolution or product: nullptr where there is none.
absl::StatusOr<const float*> BiasOf(LoadContext* context, const Node& node);

}  // namespace plait
