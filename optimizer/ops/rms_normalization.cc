#include <cmath>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "optimizer/ops/shared/axes.h"
#include "optimizer/ops/shared/broadcast.h"
#include "optimizer/ops/shared/elementwise.h"
#include "optimizer/ops/shared/expansion.h"

namespace plait {
namespace {

Types InferRmsNormalization(const OpCall& call) {
  for (size_t i = 0; i < 2; ++i) PLAIT_RETURN_IF_ERROR(CheckDataType(call, i, TypeSet::kFloat));
  const TensorType& input = call.input_types[0];
  const TensorType& scale = call.input_types[1];
  if (input.dtype != scale.dtype) {
    return absl::UnimplementedError("a scale of another element type is not implemented");
  }
  PLAIT_RETURN_IF_ERROR(AxisOfInput(call, "axis", -1).status());
  PLAIT_ASSIGN_OR_RETURN(const Shape shape, BroadcastShapes(input.shape, scale.shape));
  if (shape == input.shape) return std::vector<TensorType>{input};
  return absl::InvalidArgumentError(
      absl::StrCat("the scale must broadcast to ", input.ToString(), ", is ", scale.ToString()));
}

Work WorkOfRmsNormalization(const OpCall& call, absl::Span<const TensorType> output_types) {
  Work work = DefaultWork(call, output_types);
  // Square and its sum, normalization and scale.
  work.flops = SaturatingMultiply(call.input_types[0].elements(), 4);
  return work;
}

absl::Status EvaluateRmsNormalization(const OpCall& call, EvalInputs inputs, EvalOutputs outputs) {
  auto* y = std::get_if<std::vector<double>>(&outputs[0].values);
  if (y == nullptr) return NoMeaningInField();
  if (y->empty()) return absl::OkStatus();
  const auto& x = std::get<std::vector<double>>(inputs[0]->values);
  const auto& scale = std::get<std::vector<double>>(inputs[1]->values);
  PLAIT_ASSIGN_OR_RETURN(const int axis, AxisOfInput(call, "axis", -1));
  const Shape& shape = inputs[0]->type.shape;
  const int64_t row = ElementsOf(Shape(shape.begin() + axis, shape.end()));
  const double epsilon = call.attributes.Float("epsilon", 1e-5f);
  for (size_t first = 0; first < x.size(); first += static_cast<size_t>(row)) {
    double squares = 0;
    for (int64_t i = 0; i < row; ++i) squares += x[first + i] * x[first + i];
    const double root = std::sqrt(squares / static_cast<double>(row) + epsilon);
    for (int64_t i = 0; i < row; ++i) (*y)[first + i] = x[first + i] / root;
  }
  ForEachIndex<1>(shape, {BroadcastStrides(inputs[1]->type.shape, shape)},
                  [&](int64_t index, const std::array<int64_t, 1>& offsets) {
                    (*y)[index] *= scale[offsets[0]];
                  });
  return absl::OkStatus();
}

// As models before opset 23 write it.
absl::StatusOr<std::vector<TensorId>> ExpandRmsNormalization(const Node& node,
                                                             GraphBuilder* builder) {
  Expansion expansion(builder);
  const TensorType type = expansion.type(node.inputs[0]);
  PLAIT_ASSIGN_OR_RETURN(const int axis,
                         NormalizeAxis(node.attributes->Int("axis", -1), type.rank()));
  std::vector<int64_t> axes;
  for (int i = axis; i < type.rank(); ++i) axes.push_back(i);
  const DataType wide = WideType(type.dtype);
  const TensorId x = expansion.Cast(node.inputs[0], wide);
  const TensorId squares = expansion.Add(OpKind::kMul, {x, x});
  const TensorId mean = expansion.Add(OpKind::kReduceMean, {squares, expansion.Ints(axes)});
  const TensorId epsilon = expansion.Scalar(wide, node.attributes->Float("epsilon", 1e-5f));
  const TensorId root =
      expansion.Add(OpKind::kSqrt, {expansion.Add(OpKind::kAdd, {mean, epsilon})});
  const TensorId normal = expansion.Cast(expansion.Add(OpKind::kDiv, {x, root}), type.dtype);
  return expansion.Outputs({expansion.Add(OpKind::kMul, {normal, node.inputs[1]})});
}

}  // namespace

// y = x / sqrt(mean of x^2 + epsilon) * scale, with the mean over all axes from `axis` on (Zhang
// and Sennrich, NeurIPS 2019).
const OpSpec kRMSNormalizationSpec = {
    .kind = OpKind::kRMSNormalization,
    .since_opset = 23,
    .inputs = {2, 2},
    .infer = InferRmsNormalization,
    .work = WorkOfRmsNormalization,
    .evaluate = EvaluateRmsNormalization,
    .expand = ExpandRmsNormalization,
};

}  // namespace plait
