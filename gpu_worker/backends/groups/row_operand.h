#pragma once

#include <algorithm>

#include "optimizer/ir/tensor_type.h"

namespace plait {

// Whether a tensor that broadcasts to `whole` is one row of it: an element for each of those of the
// axes from `axis` on, and the same for all before. As many elements do not say so: to [2,16,16] a
// [16,1] broadcasts as a column. REQUIRES: 0 <= axis <= whole.rank().
inline bool IsRowOf(const TensorType& whole, int64_t axis, const TensorType& type) {
  const Shape row(whole.shape.begin() + axis, whole.shape.end());
  const int before = std::max(type.rank() - static_cast<int>(row.size()), 0);
  return type.elements() == ElementsOf(row) &&
         std::all_of(type.shape.begin(), type.shape.begin() + before,
                     [](int64_t size) { return size == 1; });
}

}  // namespace plait
