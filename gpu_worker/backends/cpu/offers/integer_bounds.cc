#include "gpu_worker/backends/cpu/offers/integer_bounds.h"

#include <algorithm>

#include "gpu_worker/backends/groups/integer_checks.h"
#include "optimizer/ops/shared/quantization.h"

namespace plait {
namespace {

bool HasScaleOf(const Graph& graph, NodeId root, NodeId node) {
  const Node& n = graph.node(node);
  return n.inputs.size() == 3 && n.inputs[1] == graph.node(root).inputs[6] &&
         n.inputs[2] == graph.node(root).inputs[7] && HasKnownQuantization(graph, n);
}

// The integer that a bound of a Clip becomes; `otherwise` where it is omitted, nullopt where it is
// not known.
std::optional<int32_t> BoundOf(const Graph& graph, NodeId clip, size_t index, NodeId quantize,
                               int32_t otherwise) {
  const Node& node = graph.node(clip);
  if (index >= node.inputs.size() || node.inputs[index] == kNoTensor) return otherwise;
  const Tensor* const bound = graph.inline_constant(clip, static_cast<int>(index));
  if (bound == nullptr || bound->elements() != 1) return std::nullopt;
  const Quantization by = QuantizationOf(graph, graph.node(quantize));
  const IntegerRange range = *QuantizedRange(graph.output_type(quantize).dtype);
  return static_cast<int32_t>(
      Quantized(bound->at<float>(0) / by.scale, static_cast<int64_t>(by.zero_point), range));
}

}  // namespace

NodeId OnlyReader(const Graph& graph, NodeId node) {
  const TensorId output = graph.node(node).outputs[0];
  return graph.has_single_use(output) ? graph.users(output)[0] : kNoNode;
}

NodeId DequantizeBehind(const Graph& graph, NodeId root) {
  const NodeId dequantize = OnlyReader(graph, root);
  const bool is_behind = dequantize != kNoNode &&
                         graph.node(dequantize).op == OpKind::kDequantizeLinear &&
                         HasScaleOf(graph, root, dequantize);
  return is_behind ? dequantize : kNoNode;
}

std::optional<IntegerLimits> LimitsOf(const Graph& graph, NodeId bound, NodeId quantize) {
  const IntegerLimits none;
  if (graph.node(bound).op == OpKind::kRelu) {
    const Quantization by = QuantizationOf(graph, graph.node(quantize));
    return IntegerLimits{static_cast<int32_t>(by.zero_point), none.highest};
  }
  if (graph.node(bound).op != OpKind::kClip) return std::nullopt;
  const auto lowest = BoundOf(graph, bound, 1, quantize, none.lowest);
  const auto highest = BoundOf(graph, bound, 2, quantize, none.highest);
  if (!lowest || !highest || *lowest > *highest) return std::nullopt;
  return IntegerLimits{*lowest, *highest};
}

std::optional<IntegerBounds> BoundsBehind(const Graph& graph, NodeId root) {
  const OpKind op = graph.node(root).op;
  if (op != OpKind::kQLinearConv && op != OpKind::kQLinearMatMul) return std::nullopt;
  const NodeId dequantize = DequantizeBehind(graph, root);
  if (dequantize == kNoNode) return std::nullopt;
  const NodeId bound = OnlyReader(graph, dequantize);
  const NodeId quantize = bound == kNoNode ? kNoNode : OnlyReader(graph, bound);
  if (quantize == kNoNode || graph.node(quantize).op != OpKind::kQuantizeLinear ||
      graph.node(quantize).inputs[0] != graph.node(bound).outputs[0] ||
      !HasScaleOf(graph, root, quantize)) {
    return std::nullopt;
  }
  // A negative scale turns the order of the integers round.
  if (!(QuantizationOf(graph, graph.node(quantize)).scale > 0)) return std::nullopt;
  const auto limits = LimitsOf(graph, bound, quantize);
  if (!limits) return std::nullopt;
  return IntegerBounds{{dequantize, bound, quantize}, graph.node(quantize).outputs[0], *limits};
}

std::optional<IntegerBounds> ParseBounds(const Graph& graph, const std::vector<NodeId>& nodes) {
  if (nodes.size() == 1) return IntegerBounds{{}, graph.node(nodes[0]).outputs[0], {}};
  const auto bounds = BoundsBehind(graph, nodes[0]);
  if (!bounds ||
      !std::equal(nodes.begin() + 1, nodes.end(), bounds->nodes.begin(), bounds->nodes.end())) {
    return std::nullopt;
  }
  return bounds;
}

}  // namespace plait
