#pragma once

#include <cstdint>
#include <string>

#include "absl/container/inlined_vector.h"
#include "optimizer/ir/data_type.h"
#include "optimizer/ir/fingerprint.h"

namespace plait {

// Dimensions, outermost first; each >= 0. Empty: a scalar. Shapes are static: a model with symbolic
// dimensions is bound to numbers when it is imported. Six of them lie inline, which is more than
// nearly every tensor has.
using Shape = absl::InlinedVector<int64_t, 6>;

// What a tensor holds: element type and static shape, row-major.
// dtype kUndefined: nothing is known about the tensor (the output of an opaque node), shape is
// empty.
struct TensorType {
  DataType dtype = DataType::kUndefined;
  Shape shape;

  bool known() const { return dtype != DataType::kUndefined; }
  int rank() const { return static_cast<int>(shape.size()); }

  // The product of the dimensions. Never overflows when the type passed IsValidShape.
  int64_t elements() const;
  // 0 when nothing is known, and for strings.
  int64_t bytes() const { return elements() * BytesOf(dtype); }

  // "float32[1,3,224,224]"; "int64[]" for a scalar; "undefined" when nothing is known.
  std::string ToString() const;

  friend bool operator==(const TensorType&, const TensorType&) = default;
};

// Covers the element type and every dimension.
Fingerprint FingerprintOf(const TensorType& type);

// The product of `shape`'s dimensions.
// 1 for a scalar. REQUIRES: IsValidShape(shape), or it may overflow.
int64_t ElementsOf(const Shape& shape);

// "[1,3,224,224]"
std::string ShapeToString(const Shape& shape);

// False when a dimension is negative, the rank exceeds kTensorRankMax, or the element count
// exceeds kTensorElementsMax. The product leaves out zeros, so that one of them does not excuse
// what the others would make: sums and products over a valid shape's strides never overflow.
bool IsValidShape(const Shape& shape);

}  // namespace plait
