#include "optimizer/rules/patterns/gelu_pattern.h"

#include "optimizer/rules/patterns/graph_queries.h"

namespace plait {
namespace {

// What a Mul multiplies `tensor` with.
TensorId OtherFactor(const Graph& graph, NodeId mul, TensorId tensor) {
  const Node& node = graph.node(mul);
  return node.inputs[0] == tensor ? node.inputs[1] : node.inputs[0];
}

bool IsHalf(const Graph& graph, TensorId tensor) {
  const ConstantRef& constant = graph.tensor(tensor).constant;
  if (constant == nullptr || constant->inline_value() == nullptr) return false;
  return constant->type().elements() == 1 && constant->inline_value()->AsDoubles()[0] == 0.5;
}

}  // namespace

std::optional<TensorId> ScaledBy(const Graph& graph, TensorId tensor, double factor) {
  const NodeId node = graph.tensor(tensor).producer;
  if (node == kNoNode) return std::nullopt;
  if (graph.node(node).op != OpKind::kMul && graph.node(node).op != OpKind::kDiv) {
    return std::nullopt;
  }
  const auto side = OneConstantInput(graph, node);
  if (!side) return std::nullopt;
  const auto value = ScalarAt(graph, node, side->constant);
  if (!value) return std::nullopt;
  // A quotient counts when the constant divides; 1 / x is something else.
  if (graph.node(node).op == OpKind::kMul && !NearlyEqual(*value, factor)) return std::nullopt;
  if (graph.node(node).op == OpKind::kDiv &&
      (side->constant != 1 || !NearlyEqual(*value, 1 / factor))) {
    return std::nullopt;
  }
  return graph.node(node).inputs[side->other];
}

NodeId FindHalfProduct(const Graph& graph, TensorId t, TensorId x) {
  const NodeId plus_one = SoleUser(graph, t, OpKind::kAdd);
  if (plus_one == kNoNode) return kNoNode;
  const auto side = OneConstantInput(graph, plus_one);
  if (!side || ScalarAt(graph, plus_one, side->constant) != 1.0) return kNoNode;
  // One product behind the other, until both factors have been met: 0.5 and x, in any order, or
  // 0.5 * x at once.
  NodeId last = plus_one;
  bool half = false;
  bool times_x = false;
  while (!half || !times_x) {
    const TensorId result = graph.node(last).outputs[0];
    last = SoleUser(graph, result, OpKind::kMul);
    if (last == kNoNode) return kNoNode;
    const TensorId factor = OtherFactor(graph, last, result);
    if (!half && IsHalf(graph, factor)) {
      half = true;
    } else if (!times_x && factor == x) {
      times_x = true;
    } else if (!half && !times_x && ScaledBy(graph, factor, 0.5) == x) {
      half = times_x = true;
    } else {
      return kNoNode;
    }
  }
  return last;
}

}  // namespace plait
