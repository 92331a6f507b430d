#pragma once

#include <cstdint>

#include "optimizer/ir/tensor_type.h"
#include "optimizer/kernels/format.h"

namespace plait {

// What a format means for a tensor of a given type: the one place that knows. Pure and thread-safe.

// Whether a tensor of the type can lie in the format at all: channels-last needs rank 4, and 16
// bits are for float32.
bool CanLieIn(const TensorType& type, Format format);

// The format that a kernel which works in `wanted` declares for a tensor: channels-last applies to
// rank 4 only, and where it means the same bytes as row-major (one channel, or one pixel) the
// tensor is called row-major, so that no reorder is ever inserted between equal bytes. What is no
// float32 is stored as its own type.
Format EffectiveFormat(const TensorType& type, Format wanted);

// Distance in elements between neighbours along each axis, by logical axis.
// For a float [1, 3, 4, 5]: 60, 20, 5, 1 row-major and 60, 1, 15, 3 in channels-last. Formats leave
// no gaps.
Shape StridesOf(const TensorType& type, Format format);

// The type of a tensor's elements as they lie: float16 for float32 in kF16. Its shape stays.
TensorType StoredType(const TensorType& type, Format format);

// What the tensor takes in the format.
inline int64_t BytesOf(const TensorType& type, Format format) {
  return StoredType(type, format).bytes();
}

// Whether elements lie as what they are, and not as fewer bits.
inline bool IsStoredWhole(const TensorType& type, Format format) {
  return StoredType(type, format).dtype == type.dtype;
}

// The format with the layout of `layout` whose float32 elements are stored as `stored`, of kFloat16
// and kBfloat16, or, for any other, as they are.
Format StoredAs(DataType stored, Format layout);

}  // namespace plait
