#include "optimizer/ops/shared/broadcast.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace plait {

// Shapes are aligned at their ends: [64, 1, 1] with [1, 64, 56, 56] gives the latter.
absl::StatusOr<Shape> BroadcastShapes(const Shape& a, const Shape& b) {
  const Shape& longer = a.size() >= b.size() ? a : b;
  const Shape& shorter = a.size() >= b.size() ? b : a;
  Shape shape = longer;
  const size_t missing = longer.size() - shorter.size();
  for (size_t i = 0; i < shorter.size(); ++i) {
    int64_t& dim = shape[missing + i];
    if (dim == shorter[i] || shorter[i] == 1) continue;
    if (dim != 1) {
      return absl::InvalidArgumentError(absl::StrCat("shapes ", ShapeToString(a), " and ",
                                                     ShapeToString(b),
                                                     " must broadcast to a common shape"));
    }
    dim = shorter[i];
  }
  return shape;
}

Shape RowMajorStrides(const Shape& shape) {
  Shape strides(shape.size(), 1);
  for (int axis = static_cast<int>(shape.size()) - 2; axis >= 0; --axis) {
    // A tensor without elements is never read; 1 keeps the other strides from mattering.
    strides[axis] = strides[axis + 1] * std::max<int64_t>(shape[axis + 1], 1);
  }
  return strides;
}

// For [64, 1, 1] in [1, 64, 56, 56]: 0, 1, 0, 0. An axis that repeats is read at distance 0, so
// that one loop over the output serves every kind of broadcasting.
Shape BroadcastStrides(const Shape& shape, const Shape& output) {
  const Shape own = RowMajorStrides(shape);
  const size_t missing = output.size() - shape.size();
  Shape strides(output.size(), 0);
  for (size_t i = 0; i < shape.size(); ++i) strides[missing + i] = shape[i] == 1 ? 0 : own[i];
  return strides;
}

}  // namespace plait
