#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "optimizer/ops/shared/axes.h"
#include "optimizer/ops/shared/broadcast.h"
#include "optimizer/ops/shared/elementwise.h"
#include "optimizer/ops/shared/expansion.h"

namespace plait {
namespace {

Types InferLpNormalization(const OpCall& call) {
  PLAIT_RETURN_IF_ERROR(AxisOfInput(call, "axis", -1).status());
  const int64_t p = call.attributes.Int("p", 2);
  if (p != 1 && p != 2) {
    return absl::InvalidArgumentError(absl::StrCat("p must be 1 or 2, is ", p));
  }
  return InferUnary(call, TypeSet::kFloat);
}

absl::Status EvaluateLpNormalization(const OpCall& call, EvalInputs inputs, EvalOutputs outputs) {
  auto* y = std::get_if<std::vector<double>>(&outputs[0].values);
  if (y == nullptr) return NoMeaningInField();
  const auto& x = std::get<std::vector<double>>(inputs[0]->values);
  PLAIT_ASSIGN_OR_RETURN(const int axis, AxisOfInput(call, "axis", -1));
  const bool squares = call.attributes.Int("p", 2) == 2;
  const Shape& shape = inputs[0]->type.shape;
  const int64_t count = shape[axis];
  const int64_t step = RowMajorStrides(shape)[axis];
  for (int64_t row = 0; row * count < static_cast<int64_t>(x.size()); ++row) {
    const int64_t first = row / step * count * step + row % step;
    double norm = 0;
    for (int64_t i = 0; i < count; ++i) {
      const double value = x[first + i * step];
      norm += squares ? value * value : std::abs(value);
    }
    if (squares) norm = std::sqrt(norm);
    for (int64_t i = 0; i < count; ++i) {
      (*y)[first + i * step] = norm == 0 ? 0 : x[first + i * step] / norm;
    }
  }
  return absl::OkStatus();
}

// x / Clip(ReduceL2(x)): a norm of 0, which only zeros have, becomes a number that divides them.
absl::StatusOr<std::vector<TensorId>> ExpandLpNormalization(const Node& node,
                                                            GraphBuilder* builder) {
  Expansion expansion(builder);
  const DataType dtype = expansion.type(node.inputs[0]).dtype;
  const DataType wide = WideType(dtype);
  const TensorId x = expansion.Cast(node.inputs[0], wide);
  const TensorId axes = expansion.Ints({node.attributes->Int("axis", -1)});
  const OpKind reduction =
      node.attributes->Int("p", 2) == 2 ? OpKind::kReduceL2 : OpKind::kReduceL1;
  const TensorId norm = expansion.Add(reduction, {x, axes});
  // Not a denormal number, which a runtime may take for 0.
  const double least = wide == DataType::kFloat64 ? std::numeric_limits<double>::min()
                                                  : std::numeric_limits<float>::min();
  const TensorId divisor = expansion.Add(OpKind::kClip, {norm, expansion.Scalar(wide, least)});
  return expansion.Outputs({expansion.Cast(expansion.Add(OpKind::kDiv, {x, divisor}), dtype)});
}

}  // namespace

// y = x / norm, where the norm is that of the elements along the axis: the sum of their magnitudes
// (p = 1) or the root of the sum of their squares (p = 2). Zeros stay zeros.
const OpSpec kLpNormalizationSpec = {
    .kind = OpKind::kLpNormalization,
    .infer = InferLpNormalization,
    .evaluate = EvaluateLpNormalization,
    .expand = ExpandLpNormalization,
    .expands_at_import = AlwaysExpands,
};

}  // namespace plait
