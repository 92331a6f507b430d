#pragma once

#include "base/status_macros.h"
#include "gpu_worker/backends/cpu/run/kernel.h"

namespace plait {

// What several families ask of a kernel's tensors while it loads.

// a / b, rounded up. REQUIRES: neither is negative, and b is not 0.
inline int64_t CeilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

// LoadContext::Find of a tensor that lies in `format` as far as that applies to its type.
// Errors: also InvalidArgument (LoadContext::Refuse) where it lies otherwise.
absl::StatusOr<Operand> FindIn(LoadContext* context, TensorId tensor, Format format);

// What a kernel reads and writes that works in one format: an image of one pixel or one channel is
// called plain in either, and then the other end says which it is.
struct Ends {
  Format format = Format::kPlain;
  Operand source;
  Operand result;
};

// Errors: also InvalidArgument (LoadContext::Refuse) where they lie in different formats.
absl::StatusOr<Ends> EndsOf(LoadContext* context, TensorId source, TensorId result);

// FindIn's data of an output of `node`; nullptr where nobody reads it, or there is none.
// Errors: as FindIn.
absl::StatusOr<std::byte*> OutputOf(LoadContext* context, const Node& node, size_t index,
                                    Format format);

// LoadContext::AllocateScratch of so many numbers.
template <typename T>
absl::StatusOr<T*> ScratchOf(LoadContext* context, int64_t count) {
  PLAIT_ASSIGN_OR_RETURN(std::byte* const memory,
                         context->AllocateScratch(count * static_cast<int64_t>(sizeof(T))));
  return reinterpret_cast<T*>(memory);
}

// The third input of a convolution or product: nullptr where there is none.
absl::StatusOr<const float*> BiasOf(LoadContext* context, const Node& node);

}  // namespace plait
