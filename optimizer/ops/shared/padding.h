#pragma once

#include <cstdint>

#include "absl/status/statusor.h"
#include "optimizer/ir/attributes.h"

namespace plait {

// What Pad puts around a tensor: one value, or elements of the tensor: its mirror image, in which
// the edges are not repeated, its edges, or its other end.
enum class PadMode { kConstant, kReflect, kEdge, kWrap };

// Attribute "mode". Errors: InvalidArgument for any other.
absl::StatusOr<PadMode> PadModeOf(const Attributes& attributes);

// The place, along one axis of `dim` elements, of the element that stands at `position`, which lies
// outside of [0, dim) in the padding; -1 where the constant stands. REQUIRES: dim > 0.
int64_t PaddedFrom(int64_t position, int64_t dim, PadMode mode);

}  // namespace plait
