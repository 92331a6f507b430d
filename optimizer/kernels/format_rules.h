#pragma once

#include "optimizer/ir/tensor_type.h"
#include "optimizer/kernels/format.h"

namespace plait {

// What a format means for a tensor of a given type: the one place that knows. Pure and thread-safe.

// The format that a kernel which works in `wanted` declares for a tensor: channels-last applies to
// rank 4 only, and where it means the same bytes as plain (one channel, or one pixel) the tensor is
// called plain, so that no reorder is ever inserted between equal bytes.
Format EffectiveFormat(const TensorType& type, Format wanted);

// Distance in elements between neighbours along each axis, by logical axis.
Shape StridesOf(const TensorType& type, Format format);

}  // namespace plait
