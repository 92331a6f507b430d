#include "gpu_worker/backends/cuda/offers/convolution.h"

#include "gpu_worker/backends/cuda/offers/image_axes.h"
#include "gpu_worker/backends/cuda/offers/operands.h"
#include "gpu_worker/backends/groups/node_checks.h"

namespace plait::cuda {
std::optional<ConvProblem> ConvolutionAt(const Graph& graph, NodeId id) {
  if (!IsOneOf(graph, id, {OpKind::kConv}) || !AllFloat32(graph, id)) return std::nullopt;
  const Node& node = graph.node(id);
  const Shape& x = graph.input_type(id, 0).shape;
  const Shape& weights = graph.input_type(id, 1).shape;
  if (x.size() < 3 || x.size() > 4 || !HasExplicitPadding(node)) return std::nullopt;
  const bool is_image = x.size() == 4;
  ConvProblem conv{.n = x[0], .c = x[1], .w = x.back(), .k = weights[0], .s = weights.back()};
  if (is_image) {
    conv.h = x[2];
    conv.r = weights[2];
  }
  conv.groups = node.attributes->Int("group", 1);
  conv.bias = HasBias(node);
  if (!ReadAxes(node, "strides", &conv.stride) || !ReadAxes(node, "dilations", &conv.dilation) ||
      !ReadAxes(node, "pads", &conv.pad)) {
    return std::nullopt;
  }
  return conv;
}

std::optional<ConvProblem> ConvolutionOf(const Graph& graph, NodeId node, const FusedChain& chain) {
  std::optional<ConvProblem> conv = ConvolutionAt(graph, node);
  if (!conv.has_value()) return std::nullopt;
  conv->bias = conv->bias || chain.bias != kNoTensor;
  conv->residual = chain.residual != kNoTensor;
  conv->activation = chain.activation;
  return conv;
}

OperandValue WeightsOf(const Graph& graph, NodeId node, MemoryLayout layout) {
  return OperandOf(graph, graph.node(node).inputs[1], layout);
}

OperandValue BiasOf(const Graph& graph, NodeId node, const FusedChain& chain) {
  if (chain.bias != kNoTensor) return OperandOf(graph, chain.bias);
  return HasBias(graph.node(node)) ? OperandOf(graph, graph.node(node).inputs[2]) : OperandValue();
}

NodeId ConvolutionBehind(const Graph& graph, NodeId relu) {
  if (!IsOneOf(graph, relu, {OpKind::kRelu})) return kNoNode;
  const TensorId value = graph.node(relu).outputs[0];
  if (!graph.has_single_use(value) || graph.is_output(value)) return kNoNode;
  const NodeId reader = graph.users(value)[0];
  const bool reads =
      IsOneOf(graph, reader, {OpKind::kConv}) && graph.node(reader).inputs[0] == value;
  return reads ? reader : kNoNode;
}

std::vector<FormatRow> ConvolutionRows(const Graph& graph, absl::Span<const NodeId> nodes) {
  const NodeId root = graph.node(nodes.front()).op == OpKind::kConv ? nodes.front() : nodes[1];
  const bool is_packed = graph.tensor(graph.node(root).inputs[1]).constant != nullptr;
  if (!is_packed || graph.input_type(root, 0).rank() != 4) return PlainRow(graph, nodes);
  return RowsIn(graph, nodes, {Format::kPlain, Format::kChannelsLast});
}

}  // namespace plait::cuda
