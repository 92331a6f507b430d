#include "optimizer/ops/shared/axes.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/limits.h"
#include "base/status_macros.h"

namespace plait {

absl::StatusOr<int> NormalizeAxis(int64_t axis, int rank) {
  if (axis < -rank || axis >= rank) {
    return absl::InvalidArgumentError(
        absl::StrCat("axis must be in [", -rank, ", ", rank, "), is ", axis));
  }
  return static_cast<int>(NormalAxis(axis, rank));
}

// In the order given; -1 and 3 of rank 4 are one axis given twice.
absl::StatusOr<std::vector<int>> NormalizeAxes(absl::Span<const int64_t> axes, int rank) {
  std::vector<int> normalized;
  for (int64_t axis : axes) {
    PLAIT_ASSIGN_OR_RETURN(const int from_front, NormalizeAxis(axis, rank));
    if (std::find(normalized.begin(), normalized.end(), from_front) != normalized.end()) {
      return absl::InvalidArgumentError(absl::StrCat("axis ", axis, " must be given once only"));
    }
    normalized.push_back(from_front);
  }
  return normalized;
}

absl::StatusOr<int> AxisOfInput(const OpCall& call, absl::string_view name, int64_t otherwise) {
  return NormalizeAxis(call.attributes.Int(name, otherwise), call.input_types[0].rank());
}

// Unimplemented for a value that is not known yet: ONNX allows it, and we need the output's shape.
absl::StatusOr<std::vector<int64_t>> ConstantInts(const OpCall& call, size_t index) {
  const Tensor* value = call.constant(index);
  if (value == nullptr) {
    return absl::UnimplementedError(absl::StrCat("input ", index, " must be a small constant"));
  }
  const TensorType& type = value->type();
  if ((type.dtype != DataType::kInt64 && type.dtype != DataType::kInt32) || type.rank() > 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("input ", index, " must be a list of int64, is ", type.ToString()));
  }
  return value->AsInt64s();
}

absl::StatusOr<TensorType> CheckedType(DataType dtype, Shape shape) {
  if (!IsValidShape(shape)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the output's shape must have at most ", kTensorRankMax, " dimensions, each >= 0, and ",
        kTensorElementsMax, " elements, is ", ShapeToString(shape)));
  }
  return TensorType{dtype, std::move(shape)};
}

// Builtins, because overflow of signed integers is undefined and must be asked for beforehand.
int64_t SaturatingAdd(int64_t a, int64_t b) {
  int64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? std::numeric_limits<int64_t>::max() : sum;
}

int64_t SaturatingMultiply(int64_t a, int64_t b) {
  int64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? std::numeric_limits<int64_t>::max() : product;
}

}  // namespace plait
