#include "optimizer/integer_form/dequantized.h"

#include <limits>

#include "optimizer/rules/patterns/graph_queries.h"

namespace plait {
namespace {

// nullptr for an omitted input; nullopt for one that is no constant.
std::optional<ConstantRef> ConstantOrOmitted(const Graph& graph, NodeId node, int index) {
  const TensorId input = InputOr(graph, node, index);
  if (input == kNoTensor) return ConstantRef();
  const ConstantRef& constant = graph.tensor(input).constant;
  if (constant == nullptr) return std::nullopt;
  return constant;
}

// What a constant expression dequantizes.
std::optional<Dequantized> FromExpression(const Constant& constant, const Attributes** attributes) {
  const auto* const apply = std::get_if<Constant::Apply>(&constant.value());
  if (apply == nullptr || apply->op != OpKind::kDequantizeLinear) return std::nullopt;
  *attributes = apply->attributes.get();
  Dequantized result;
  result.constant = apply->inputs[0];
  result.type = apply->inputs[0]->type();
  result.scale = apply->inputs[1];
  if (apply->inputs.size() > 2) result.zero_point = apply->inputs[2];
  return result;
}

std::optional<Dequantized> FromNode(const Graph& graph, NodeId node,
                                    const Attributes** attributes) {
  const auto scale = ConstantOrOmitted(graph, node, 1);
  const auto zero_point = ConstantOrOmitted(graph, node, 2);
  if (!scale || *scale == nullptr || !zero_point) return std::nullopt;
  *attributes = graph.node(node).attributes.get();
  Dequantized result;
  result.integers = graph.node(node).inputs[0];
  result.type = graph.input_type(node, 0);
  result.scale = *scale;
  result.zero_point = *zero_point;
  return result;
}

}  // namespace

std::optional<Dequantized> DequantizedInput(const Graph& graph, NodeId node, int index) {
  const TensorId input = InputOr(graph, node, index);
  if (input == kNoTensor || graph.type(input).dtype != DataType::kFloat32) return std::nullopt;
  const ConstantRef& constant = graph.tensor(input).constant;
  const NodeId producer = ProducerOf(graph, node, index, OpKind::kDequantizeLinear);
  if (constant == nullptr && producer == kNoNode) return std::nullopt;
  const Attributes* attributes = nullptr;
  std::optional<Dequantized> result = constant != nullptr ? FromExpression(*constant, &attributes)
                                                          : FromNode(graph, producer, &attributes);
  if (!result || attributes->Int("block_size", 0) != 0) return std::nullopt;
  const auto scales = ScalesOf(result->scale);
  // Scales of 0, and what is no number, mean nothing that integers could.
  for (const double scale : scales.value_or(std::vector<double>())) {
    if (!(scale > 0 && scale < std::numeric_limits<double>::infinity())) return std::nullopt;
  }
  const int64_t axis = attributes->Int("axis", 1);
  result->axis = static_cast<int>(axis < 0 ? axis + result->type.rank() : axis);
  return result;
}

TensorId IntegersOf(const Dequantized& input, RewriteBuilder* builder) {
  return input.constant == nullptr ? input.integers : builder->AddConstant(input.constant);
}

TensorId ScaleOf(const Dequantized& input, RewriteBuilder* builder) {
  return builder->AddConstant(input.scale);
}

TensorId ZeroPointOf(const Dequantized& input, RewriteBuilder* builder) {
  if (input.zero_point != nullptr) return builder->AddConstant(input.zero_point);
  const int64_t zero = 0;
  return builder->AddConstant(
      Tensor::FromInt64s({input.type.dtype, {}}, absl::MakeConstSpan(&zero, 1)));
}

std::optional<std::vector<double>> ScalesOf(const ConstantRef& scale) {
  const Tensor* const value = scale->inline_value();
  if (value == nullptr) return std::nullopt;
  return value->AsDoubles();
}

}  // namespace plait
