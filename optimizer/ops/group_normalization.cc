#include <cmath>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "optimizer/ops/shared/channel_planes.h"
#include "optimizer/ops/shared/elementwise.h"
#include "optimizer/ops/shared/expansion.h"
#include "optimizer/ops/shared/mean_variance.h"
#include "optimizer/ops/shared/versions.h"

namespace plait {
namespace {

constexpr size_t kScale = 1;
constexpr size_t kGroupBias = 2;

int64_t Groups(const Attributes& attributes) { return attributes.Int("num_groups", 0); }

// Opsets 18 to 20 have one scale and bias for each group, where the newest one has them for each
// channel. A node of the older ones keeps its own: it is an InstanceNormalization of groups.
bool IsByGroup(const TensorType& input, const TensorType& scale) {
  return scale.shape != Shape{input.shape[1]};
}

Types InferGroupNormalization(const OpCall& call) {
  for (size_t i = 0; i < 3; ++i) {
    PLAIT_RETURN_IF_ERROR(CheckDataType(call, i, TypeSet::kFloat));
    PLAIT_RETURN_IF_ERROR(CheckSameDataType(call, 0, i));
  }
  const TensorType& input = call.input_types[0];
  const int64_t groups = Groups(call.attributes);
  if (input.rank() < 3 || groups < 1 || input.shape[1] % groups != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("needs channels in groups and spatial axes, has ", groups, " groups of ",
                     input.ToString()));
  }
  for (size_t i = kScale; i <= kGroupBias; ++i) {
    const Shape& shape = call.input_types[i].shape;
    const bool fits = shape == Shape{input.shape[1]} || shape == Shape{groups};
    if (fits && shape == call.input_types[kScale].shape) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("input ", i, " must have one number for each of ", input.shape[1],
                     " channels, is ", call.input_types[i].ToString()));
  }
  return std::vector<TensorType>{input};
}

Work WorkOfGroupNormalization(const OpCall& call, absl::Span<const TensorType> output_types) {
  Work work = DefaultWork(call, output_types);
  // Sum, deviation, square and its sum, scale and bias.
  work.flops *= 6;
  return work;
}

absl::Status EvaluateGroupNormalization(const OpCall& call, EvalInputs inputs,
                                        EvalOutputs outputs) {
  auto* y = std::get_if<std::vector<double>>(&outputs[0].values);
  if (y == nullptr) return NoMeaningInField();
  if (y->empty()) return absl::OkStatus();
  const auto& x = std::get<std::vector<double>>(inputs[0]->values);
  const auto& scale = std::get<std::vector<double>>(inputs[kScale]->values);
  const auto& bias = std::get<std::vector<double>>(inputs[kGroupBias]->values);
  const double epsilon = call.attributes.Float("epsilon", 1e-5f);
  const ChannelPlanes planes(inputs[0]->type);
  const int64_t group_channels = planes.channels / Groups(call.attributes);
  const int64_t group_elements = group_channels * planes.elements;
  const bool by_group = IsByGroup(inputs[0]->type, inputs[kScale]->type);
  for (int64_t plane = 0; plane < planes.planes; plane += group_channels) {
    const int64_t first = plane * planes.elements;
    const MeanVariance statistics(x.data() + first, group_elements);
    const double factor = 1 / std::sqrt(statistics.variance + epsilon);
    for (int64_t i = 0; i < group_elements; ++i) {
      const int64_t channel = (plane + i / planes.elements) % planes.channels;
      const int64_t c = by_group ? channel / group_channels : channel;
      (*y)[first + i] = (x[first + i] - statistics.mean) * factor * scale[c] + bias[c];
    }
  }
  return absl::OkStatus();
}

// The groups as channels of an InstanceNormalization, whose scale and bias are those of the groups,
// or ones and zeros in front of a Mul and an Add by channel.
absl::StatusOr<std::vector<TensorId>> ExpandGroupNormalization(const Node& node,
                                                               GraphBuilder* builder) {
  Expansion expansion(builder);
  const TensorType type = expansion.type(node.inputs[0]);
  if (type.elements() == 0) return absl::UnimplementedError("a form without elements");
  const DataType wide = WideType(type.dtype);
  const int64_t groups = Groups(*node.attributes);
  const bool by_group = IsByGroup(type, expansion.type(node.inputs[kScale]));
  const auto constant = [&](double value) {
    return expansion.Constant(Tensor::FromDoubles(
        {wide, {groups}}, std::vector<double>(static_cast<size_t>(groups), value)));
  };
  const TensorId group_scale = by_group ? expansion.Cast(node.inputs[kScale], wide) : constant(1);
  const TensorId group_bias =
      by_group ? expansion.Cast(node.inputs[kGroupBias], wide) : constant(0);
  const TensorId grouped = expansion.Add(
      OpKind::kReshape,
      {expansion.Cast(node.inputs[0], wide),
       expansion.Ints({type.shape[0], groups, type.elements() / (type.shape[0] * groups)})});
  const TensorId normal =
      expansion.Add(OpKind::kInstanceNormalization, {grouped, group_scale, group_bias},
                    {{"epsilon", node.attributes->Float("epsilon", 1e-5f)}});
  const TensorId shape = expansion.Ints(std::vector<int64_t>(type.shape.begin(), type.shape.end()));
  TensorId y = expansion.Cast(expansion.Add(OpKind::kReshape, {normal, shape}), type.dtype);
  if (by_group) return expansion.Outputs({y});
  std::vector<int64_t> by_channel(static_cast<size_t>(type.rank() - 1), 1);
  by_channel[0] = type.shape[1];
  const auto spread = [&](size_t input) {
    return expansion.Add(OpKind::kReshape, {node.inputs[input], expansion.Ints(by_channel)});
  };
  y = expansion.Add(OpKind::kMul, {y, spread(kScale)});
  return expansion.Outputs({expansion.Add(OpKind::kAdd, {y, spread(kGroupBias)})});
}

bool ExpandsGroupNormalizationAtImport(const OpCall& call) {
  return IsByGroup(call.input_types[0], call.input_types[kScale]) &&
         call.input_types[0].elements() > 0;
}

absl::Status LowerGroupNormalization(VersionedNode* node) {
  const int64_t channels = node->input_types[0].shape[1];
  const bool is_by_group = IsByGroup(node->input_types[0], node->input_types[kScale]);
  if (node->opset >= 21) {
    return is_by_group ? absl::UnimplementedError("a scale by group needs opset 18 to 20")
                       : absl::OkStatus();
  }
  if (!is_by_group && channels != Groups(node->attributes)) {
    return NeedsOpset("a scale by channel", 21);
  }
  node->attributes.Erase("stash_type");
  return absl::OkStatus();
}

}  // namespace

// y = (x - mean) / sqrt(variance + epsilon) * scale + bias, with the statistics of each group of
// neighbouring channels of an image (Wu and He, ECCV 2018).
const OpSpec kGroupNormalizationSpec = {
    .kind = OpKind::kGroupNormalization,
    .since_opset = 18,
    .inputs = {3, 3},
    .infer = InferGroupNormalization,
    .work = WorkOfGroupNormalization,
    .evaluate = EvaluateGroupNormalization,
    .lower = LowerGroupNormalization,
    .expand = ExpandGroupNormalization,
    .expands_at_import = ExpandsGroupNormalizationAtImport,
};

}  // namespace plait
