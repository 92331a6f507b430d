#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "optimizer/ops/shared/op_spec.h"

// Axes of tensors, and the lists of integers that operators take as inputs. ONNX counts axes from
// the back when they are negative: of rank 4, axis -1 is axis 3.
namespace plait {

// `axis` counted from the front, unchecked: -1 becomes rank - 1. For nodes whose types were
// inferred; whatever comes from a model goes through NormalizeAxis.
constexpr int64_t NormalAxis(int64_t axis, int64_t rank) { return axis < 0 ? axis + rank : axis; }

// The same, checked.
// Errors: InvalidArgument when it is not in [-rank, rank).
absl::StatusOr<int> NormalizeAxis(int64_t axis, int rank);

// All of `axes` counted from the front, in the given order.
// Errors: InvalidArgument when one is not in [-rank, rank) or stands twice.
absl::StatusOr<std::vector<int>> NormalizeAxes(absl::Span<const int64_t> axes, int rank);

// The attribute `name` as an axis of input 0; `otherwise` when it is missing.
// Errors: as NormalizeAxis.
absl::StatusOr<int> AxisOfInput(const OpCall& call, absl::string_view name, int64_t otherwise);

// The elements of input `index`, a list or scalar of integers that the operator needs to know
// before it runs: axes, a shape, repeats. Errors: Unimplemented when its value is not an inline
// constant; InvalidArgument when it is not an int32 or int64 tensor of rank 0 or 1.
absl::StatusOr<std::vector<int64_t>> ConstantInts(const OpCall& call, size_t index);

// The type of `dtype` and `shape`.
// Errors: InvalidArgument when the shape has a negative dimension or exceeds a limit of limits.h.
absl::StatusOr<TensorType> CheckedType(DataType dtype, Shape shape);

// Sum and product of values >= 0; kint64max when they do not fit, which no valid shape contains.
int64_t SaturatingAdd(int64_t a, int64_t b);
int64_t SaturatingMultiply(int64_t a, int64_t b);

}  // namespace plait
