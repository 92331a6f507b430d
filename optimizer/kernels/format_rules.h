#pragma once

#include "optimizer/ir/tensor_type.h"
#include "optimizer/kernels/format.h"

namespace plait {

// What a format means for a tensor of a given type: the one place that knows. Pure and thread-safe.

// Whether a tensor of the type can lie in the format at all: channels-last needs rank 4.
bool CanLieIn(const TensorType& type, Format format);

// The format that a kernel which works in `wanted` declares for a tensor: channels-last applies to
// rank 4 only, and where it means the same bytes as plain (one channel, or one pixel) the tensor is
// called plain, so that no reorder is ever inserted between equal bytes.
Format EffectiveFormat(const TensorType& type, Format wanted);

// Distance in elements between neighbours along each axis, by logical axis.
// For a float [1, 3, 4, 5]: 60, 20, 5, 1 row-major and 60, 1, 15, 3 in channels-last. Formats leave
// no gaps, so that a tensor has equally many bytes in each.
Shape StridesOf(const TensorType& type, Format format);

}  // namespace plait
