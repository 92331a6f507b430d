#include "optimizer/ops/shared/softmax_axis.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "optimizer/ops/shared/axes.h"
#include "optimizer/ops/shared/broadcast.h"
#include "optimizer/ops/shared/expansion.h"
#include "optimizer/ops/shared/type_set.h"

namespace plait {
namespace {

// True when all axes of `shape` in [first, end) but `axis` have one element.
bool OnlyAxis(const Shape& shape, int first, int axis) {
  for (int i = first; i < static_cast<int>(shape.size()); ++i) {
    if (i != axis && shape[i] != 1) return false;
  }
  return true;
}

}  // namespace

Types InferSoftmax(const OpCall& call) {
  PLAIT_RETURN_IF_ERROR(CheckDataType(call, 0, TypeSet::kFloat));
  PLAIT_RETURN_IF_ERROR(AxisOfInput(call, "axis", -1).status());
  return std::vector<TensorType>{call.input_types[0]};
}

// Maximum, difference, exponential, sum and quotient.
Work WorkOfSoftmax(const OpCall& call, absl::Span<const TensorType> output_types) {
  Work work = DefaultWork(call, output_types);
  work.flops *= 5;
  return work;
}

// Up to opset 12 the input was flattened to two axes at `axis` and rows were all of what lies
// behind: for [1, 1000, 1, 1] and axis 1 that is axis 1 alone, which opset 13 can say; for [1, 10,
// 10] it is two axes at once, which it cannot.
absl::Status RaiseSoftmax(VersionedNode* node) {
  if (node->opset >= 13) return absl::OkStatus();
  if (node->input_types.empty() || !node->input_types[0].known()) {
    return absl::UnimplementedError("the meaning of axis depends on the input's shape, not known");
  }
  const Shape& shape = node->input_types[0].shape;
  const int rank = node->input_types[0].rank();
  // The flattening accepts axis == rank too: rows of one element, whose axis may be any of
  // length 1.
  PLAIT_ASSIGN_OR_RETURN(const int first, NormalizeAxis(node->attributes.Int("axis", 1), rank));
  int axis = first;
  for (int i = first; i < rank; ++i) {
    if (shape[i] != 1) axis = i;
  }
  if (!OnlyAxis(shape, first, axis)) {
    return absl::UnimplementedError(
        absl::StrCat("axis ", first, " of ", ShapeToString(shape),
                     " normalizes several axes at once, which newer opsets cannot say"));
  }
  node->attributes.Set("axis", int64_t{axis});
  return absl::OkStatus();
}

absl::Status LowerSoftmax(VersionedNode* node) {
  if (node->opset >= 13) return absl::OkStatus();
  const TensorType& type = node->input_types[0];
  PLAIT_ASSIGN_OR_RETURN(const int axis,
                         NormalizeAxis(node->attributes.Int("axis", -1), type.rank()));
  if (!OnlyAxis(type.shape, axis, axis)) {
    return absl::UnimplementedError(absl::StrCat("opset ", node->opset, " cannot normalize axis ",
                                                 axis, " of ", ShapeToString(type.shape),
                                                 " alone"));
  }
  node->attributes.Set("axis", int64_t{axis});
  return absl::OkStatus();
}

// Along the last axis, which kernels are best at, between two transposes.
absl::StatusOr<std::vector<TensorId>> ExpandSoftmax(const Node& node, GraphBuilder* builder) {
  Expansion expansion(builder);
  const int rank = expansion.type(node.inputs[0]).rank();
  PLAIT_ASSIGN_OR_RETURN(const int axis, NormalizeAxis(node.attributes->Int("axis", -1), rank));
  // Exchanging two axes is its own inverse.
  std::vector<int64_t> exchange(static_cast<size_t>(rank));
  std::iota(exchange.begin(), exchange.end(), 0);
  std::swap(exchange[axis], exchange[rank - 1]);
  const Attributes permutation = {{"perm", exchange}};
  const TensorId moved = expansion.Add(OpKind::kTranspose, {node.inputs[0]}, permutation);
  const TensorId normal = expansion.Add(node.op, {moved}, {{"axis", int64_t{rank - 1}}});
  return expansion.Outputs({expansion.Add(OpKind::kTranspose, {normal}, permutation)});
}

// The largest value is subtracted first, so that no exponential overflows; sums are of doubles.
absl::Status EvaluateSoftmax(const OpCall& call, EvalInputs inputs, EvalOutputs outputs,
                             SoftmaxResult result) {
  auto* y = std::get_if<std::vector<double>>(&outputs[0].values);
  if (y == nullptr) return absl::UnimplementedError("a field has no exponential");
  const auto& x = std::get<std::vector<double>>(inputs[0]->values);
  PLAIT_ASSIGN_OR_RETURN(const int axis, AxisOfInput(call, "axis", -1));
  const TensorType& type = inputs[0]->type;
  const int64_t count = type.shape[axis];
  const int64_t step = RowMajorStrides(type.shape)[axis];
  for (int64_t row = 0; row * count < type.elements(); ++row) {
    // Rows that begin in one block of count * step elements are interleaved.
    const int64_t first = row / step * count * step + row % step;
    double largest = -std::numeric_limits<double>::infinity();
    for (int64_t i = 0; i < count; ++i) largest = std::max(largest, x[first + i * step]);
    double sum = 0;
    for (int64_t i = 0; i < count; ++i) {
      const double shifted = x[first + i * step] - largest;
      const double exponential = std::exp(shifted);
      (*y)[first + i * step] = result == SoftmaxResult::kShares ? exponential : shifted;
      sum += exponential;
    }
    const double log_sum = std::log(sum);
    for (int64_t i = 0; i < count; ++i) {
      double& value = (*y)[first + i * step];
      value = result == SoftmaxResult::kShares ? value / sum : value - log_sum;
    }
  }
  return absl::OkStatus();
}

}  // namespace plait
