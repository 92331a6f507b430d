#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "gpu_worker/backends/cpu/run/kernel.h"

namespace plait {

// Indices that a run reads and a kernel follows into a tensor.

// REQUIRES: the indices are int64 or int32.
inline int64_t IndexAt(const Operand& indices, int64_t i) {
  return indices.type.dtype == DataType::kInt64 ? reinterpret_cast<const int64_t*>(indices.data)[i]
                                                : reinterpret_cast<const int32_t*>(indices.data)[i];
}

// Checks that each index lies in an axis, counted from its front or, if negative, from its back, by
// up to `width` threads. The axes take turns: index i is one of axis i % dims.size(). To be asked
// before anything is written, so that an error leaves the result as it was and threads that copy
// need not report. `op` names the operator in the message.
// Errors: InvalidArgument, of the first index that is wrong.
// REQUIRES: as IndexAt; the number of axes divides that of the indices.
absl::Status CheckIndicesInParts(int width, const Operand& indices, absl::Span<const int64_t> dims,
                                 absl::string_view op);

}  // namespace plait
