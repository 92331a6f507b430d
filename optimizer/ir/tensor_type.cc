#include "optimizer/ir/tensor_type.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/limits.h"

namespace plait {

int64_t TensorType::elements() const { return ElementsOf(shape); }

std::string TensorType::ToString() const {
  if (!known()) return "undefined";
  return absl::StrCat(DataTypeName(dtype), ShapeToString(shape));
}

Fingerprint FingerprintOf(const TensorType& type) {
  FingerprintBuilder builder;
  builder.Add(static_cast<int>(type.dtype)).Add(uint64_t{type.shape.size()});
  for (int64_t dim : type.shape) builder.Add(dim);
  return builder.Finish();
}

int64_t ElementsOf(const Shape& shape) {
  int64_t elements = 1;
  for (int64_t dim : shape) elements *= dim;
  return elements;
}

std::string ShapeToString(const Shape& shape) {
  return absl::StrCat("[", absl::StrJoin(shape, ","), "]");
}

bool IsValidShape(const Shape& shape) {
  if (shape.size() > static_cast<size_t>(kTensorRankMax)) return false;
  // A zero dimension must not hide the overflow of the others.
  int64_t elements = 1;
  for (int64_t dim : shape) {
    if (dim < 0) return false;
    if (dim == 0) continue;
    if (elements > kTensorElementsMax / dim) return false;
    elements *= dim;
  }
  return true;
}

}  // namespace plait
