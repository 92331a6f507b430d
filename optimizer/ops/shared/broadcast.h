#pragma once

#include <array>
#include <cstdint>

#include "absl/status/statusor.h"
#include "optimizer/ir/tensor_type.h"

// numpy's broadcasting, and walks over tensors by strides. Shapes are aligned at their last axis;
// missing axes and axes of 1 are repeated: [8,1,6] and [7,1] give [8,7,6].
namespace plait {

// The shape that numpy's rules give to the result of an elementwise operation on both.
// Errors: InvalidArgument naming both shapes. The result may exceed the limits (CheckedType).
absl::StatusOr<Shape> BroadcastShapes(const Shape& a, const Shape& b);

// Per dimension: how many elements lie between neighbours in row-major order. [2,3,4] gives
// [12,4,1].
// REQUIRES: IsValidShape(shape).
Shape RowMajorStrides(const Shape& shape);

// Row-major strides of a tensor of `shape` that is read as if it had shape `output`: 0 where it
// repeats. [3,1] within [2,3,4] gives [0,1,0]. REQUIRES: `shape` broadcasts to `output`.
Shape BroadcastStrides(const Shape& shape, const Shape& output);

// Calls visit(index, offsets) for every index of `shape` in row-major order, index = 0, 1, ...;
// offsets[k] is the dot product of the index's coordinates with strides[k]. One addition per stride
// and step: no index is taken apart by divisions. A shape without elements is not visited.
// For shape [2,3] and strides {[3,1], [0,1]} the offsets are 0 0, 1 1, 2 2, 3 0, 4 1, 5 2: the
// second tensor is a row that is repeated.
template <size_t kCount, typename Visit>
void ForEachIndex(const Shape& shape, const std::array<Shape, kCount>& strides, Visit visit) {
  const int rank = static_cast<int>(shape.size());
  const int64_t elements = ElementsOf(shape);
  if (elements == 0) return;
  std::array<int64_t, kCount> offsets = {};
  if (rank == 0) {
    visit(int64_t{0}, offsets);
    return;
  }
  Shape at(shape.size(), 0);
  const int64_t inner = shape[rank - 1];
  for (int64_t index = 0; index < elements;) {
    for (int64_t i = 0; i < inner; ++i, ++index) {
      visit(index, offsets);
      for (size_t k = 0; k < kCount; ++k) offsets[k] += strides[k][rank - 1];
    }
    for (size_t k = 0; k < kCount; ++k) offsets[k] -= inner * strides[k][rank - 1];
    for (int axis = rank - 2; axis >= 0; --axis) {
      for (size_t k = 0; k < kCount; ++k) offsets[k] += strides[k][axis];
      if (++at[axis] < shape[axis]) break;
      for (size_t k = 0; k < kCount; ++k) offsets[k] -= at[axis] * strides[k][axis];
      at[axis] = 0;
    }
  }
}

}  // namespace plait
