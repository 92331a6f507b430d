#include <cmath>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "optimizer/ops/shared/axes.h"
#include "optimizer/ops/shared/broadcast.h"
#include "optimizer/ops/shared/expansion.h"
#include "optimizer/ops/shared/mean_variance.h"
#include "optimizer/ops/shared/op_spec.h"
#include "optimizer/ops/shared/type_set.h"

namespace plait {
namespace {

// Statistics are computed in the type that `stash_type` names, by ONNX's number: 1 is float32.
absl::StatusOr<DataType> StashType(const Attributes& attributes) {
  const int64_t stash_type = attributes.Int("stash_type", 1);
  if (stash_type == static_cast<int64_t>(DataType::kFloat32)) return DataType::kFloat32;
  if (stash_type == static_cast<int64_t>(DataType::kBfloat16)) return DataType::kBfloat16;
  return absl::InvalidArgumentError(
      absl::StrCat("stash_type must be 1 (float32) or 16 (bfloat16), is ", stash_type));
}

// Scale and bias broadcast to the input; mean and inverse deviation, where they are asked for, have
// the input's shape with the normalized axes as 1.
Types InferLayerNormalization(const OpCall& call) {
  const TensorType& input = call.input_types[0];
  for (size_t i = 0; i < 3; ++i) {
    if (i == 2 && !call.has_input(2)) continue;
    PLAIT_RETURN_IF_ERROR(CheckDataType(call, i, TypeSet::kFloat));
    PLAIT_RETURN_IF_ERROR(CheckSameDataType(call, 0, i));
    PLAIT_ASSIGN_OR_RETURN(const Shape shape,
                           BroadcastShapes(input.shape, call.input_types[i].shape));
    if (shape == input.shape) continue;
    return absl::InvalidArgumentError(absl::StrCat("input ", i, " must broadcast to ",
                                                   input.ToString(), ", is ",
                                                   call.input_types[i].ToString()));
  }
  PLAIT_ASSIGN_OR_RETURN(const DataType stash, StashType(call.attributes));
  PLAIT_ASSIGN_OR_RETURN(const int axis, AxisOfInput(call, "axis", -1));
  TensorType statistics = {stash, input.shape};
  for (int i = axis; i < input.rank(); ++i) statistics.shape[i] = 1;
  std::vector<TensorType> types = {input, statistics, statistics};
  types.resize(static_cast<size_t>(call.output_count));
  return types;
}

Work WorkOfLayerNormalization(const OpCall& call, absl::Span<const TensorType> output_types) {
  Work work = DefaultWork(call, output_types);
  // Sum, deviation, square and its sum, normalization, scale and bias.
  work.flops = SaturatingMultiply(call.input_types[0].elements(), 7);
  return work;
}

// Rows first, then scale and bias for all of them: these may have any shape that broadcasts.
absl::Status EvaluateLayerNormalization(const OpCall& call, EvalInputs inputs,
                                        EvalOutputs outputs) {
  auto* y = std::get_if<std::vector<double>>(&outputs[0].values);
  if (y == nullptr) return absl::UnimplementedError("a field has no square root");
  const auto& x = std::get<std::vector<double>>(inputs[0]->values);
  PLAIT_ASSIGN_OR_RETURN(const int axis, AxisOfInput(call, "axis", -1));
  int64_t row_elements = 1;
  for (int i = axis; i < inputs[0]->type.rank(); ++i) row_elements *= inputs[0]->type.shape[i];
  const double epsilon = call.attributes.Float("epsilon", 1e-5f);
  const int64_t rows = row_elements == 0 ? 0 : static_cast<int64_t>(x.size()) / row_elements;
  for (int64_t row = 0; row < rows; ++row) {
    const MeanVariance statistics(x.data() + row * row_elements, row_elements);
    const double inverse = 1 / std::sqrt(statistics.variance + epsilon);
    for (int64_t i = row * row_elements; i < (row + 1) * row_elements; ++i) {
      (*y)[i] = (x[i] - statistics.mean) * inverse;
    }
    const std::array<double, 2> further = {statistics.mean, inverse};
    for (size_t i = 1; i < outputs.size(); ++i) {
      std::get<std::vector<double>>(outputs[i].values)[row] = further[i - 1];
    }
  }
  // Without a bias its strides are those of the scale, and are not used.
  const bool has_bias = call.has_input(2);
  const EvalTensor& scale = *inputs[1];
  const EvalTensor& bias = has_bias ? *inputs[2] : scale;
  const auto& scale_values = std::get<std::vector<double>>(scale.values);
  const auto& bias_values = std::get<std::vector<double>>(bias.values);
  const Shape& shape = inputs[0]->type.shape;
  ForEachIndex<2>(
      shape, {BroadcastStrides(scale.type.shape, shape), BroadcastStrides(bias.type.shape, shape)},
      [&](int64_t index, const std::array<int64_t, 2>& offsets) {
        (*y)[index] *= scale_values[offsets[0]];
        if (has_bias) (*y)[index] += bias_values[offsets[1]];
      });
  return absl::OkStatus();
}

// As models before opset 17 write it: mean, deviation, variance, and the rest by element.
absl::StatusOr<std::vector<TensorId>> ExpandLayerNormalization(const Node& node,
                                                               GraphBuilder* builder) {
  Expansion expansion(builder);
  const TensorType input = expansion.type(node.inputs[0]);
  PLAIT_ASSIGN_OR_RETURN(const DataType stash, StashType(*node.attributes));
  PLAIT_ASSIGN_OR_RETURN(const int axis,
                         NormalizeAxis(node.attributes->Int("axis", -1), input.rank()));
  std::vector<int64_t> axis_list;
  for (int i = axis; i < input.rank(); ++i) axis_list.push_back(i);
  // Statistics of narrow floats are computed in float32; wider ones stay as they are.
  const bool widen = BytesOf(input.dtype) < BytesOf(stash);
  const DataType dtype = widen ? stash : input.dtype;
  const auto cast = [&](TensorId tensor, DataType to) {
    if (expansion.type(tensor).dtype == to) return tensor;
    return expansion.Add(OpKind::kCast, {tensor}, {{"to", static_cast<int64_t>(to)}});
  };
  const TensorId x = cast(node.inputs[0], dtype);
  const TensorId axes = expansion.Constant(Tensor::Int64s(axis_list));
  const TensorId mean = expansion.Add(OpKind::kReduceMean, {x, axes});
  const TensorId deviation = expansion.Add(OpKind::kSub, {x, mean});
  const TensorId square = expansion.Add(OpKind::kMul, {deviation, deviation});
  const TensorId variance = expansion.Add(OpKind::kReduceMean, {square, axes});
  const TensorId epsilon = expansion.Scalar(dtype, node.attributes->Float("epsilon", 1e-5f));
  const TensorId root =
      expansion.Add(OpKind::kSqrt, {expansion.Add(OpKind::kAdd, {variance, epsilon})});
  const TensorId inverse = expansion.Add(OpKind::kReciprocal, {root});
  const TensorId normal = cast(expansion.Add(OpKind::kMul, {deviation, inverse}), input.dtype);
  TensorId y = expansion.Add(OpKind::kMul, {normal, node.inputs[1]});
  if (node.inputs.size() > 2 && node.inputs[2] != kNoTensor) {
    y = expansion.Add(OpKind::kAdd, {y, node.inputs[2]});
  }
  std::vector<TensorId> outputs = {y};
  if (node.outputs.size() > 1) outputs.push_back(cast(mean, stash));
  if (node.outputs.size() > 2) outputs.push_back(cast(inverse, stash));
  return expansion.Outputs(std::move(outputs));
}

}  // namespace

// y = (x - mean) / sqrt(variance + epsilon) * scale + bias, with the statistics of all axes from
// `axis` on (Ba, Kiros and Hinton, 2016).
const OpSpec kLayerNormalizationSpec = {
    .kind = OpKind::kLayerNormalization,
    .since_opset = 17,
    .inputs = {2, 3},
    .outputs = {1, 3},
    .infer = InferLayerNormalization,
    .work = WorkOfLayerNormalization,
    .evaluate = EvaluateLayerNormalization,
    .expand = ExpandLayerNormalization,
};

}  // namespace plait
