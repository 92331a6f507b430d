#include <cmath>

#include "optimizer/rules/patterns/gelu_pattern.h"
#include "optimizer/rules/patterns/graph_queries.h"
#include "optimizer/rules/patterns/rewrite_builder.h"
#include "optimizer/rules/rule.h"

namespace plait {
namespace {

constexpr double kCubicFactor = 0.044715;

// True when `tensor` is x^3: Pow(x, 3), or x * (x * x) in either order.
bool IsCubeOf(const Graph& graph, TensorId tensor, TensorId x) {
  const NodeId node = graph.tensor(tensor).producer;
  if (node == kNoNode) return false;
  const Node& cube = graph.node(node);
  if (cube.op == OpKind::kPow) return cube.inputs[0] == x && ScalarAt(graph, node, 1) == 3.0;
  if (cube.op != OpKind::kMul) return false;
  for (int i : {0, 1}) {
    const NodeId square = graph.tensor(cube.inputs[i]).producer;
    if (cube.inputs[1 - i] != x || square == kNoNode) continue;
    const Node& inner = graph.node(square);
    if (inner.op == OpKind::kMul && inner.inputs[0] == x && inner.inputs[1] == x) return true;
    if (inner.op == OpKind::kPow && inner.inputs[0] == x && ScalarAt(graph, square, 1) == 2.0) {
      return true;
    }
  }
  return false;
}

Rewrites MatchGeluFromTanh(const Rule&, const Graph& graph, NodeId node) {
  const auto sum = ScaledBy(graph, graph.node(node).inputs[0], std::sqrt(2 / M_PI));
  if (!sum) return {};
  const NodeId add = graph.tensor(*sum).producer;
  if (add == kNoNode || graph.node(add).op != OpKind::kAdd) return {};
  for (int i : {0, 1}) {
    const TensorId x = graph.node(add).inputs[i];
    const auto cube = ScaledBy(graph, graph.node(add).inputs[1 - i], kCubicFactor);
    if (!cube || !IsCubeOf(graph, *cube, x)) continue;
    const NodeId last = FindHalfProduct(graph, graph.node(node).outputs[0], x);
    if (last == kNoNode) return {};
    RewriteBuilder builder(graph);
    const Attributes approximate{{"approximate", std::string("tanh")}};
    return builder.Replace(last, builder.Add(OpKind::kGelu, approximate, {x}));
  }
  return {};
}

}  // namespace

const Rule kGeluFromTanh = {
    .name = "gelu_from_tanh",
    .law = "0.5 * x * (1 + Tanh(sqrt(2 / pi) * (x + 0.044715 * x^3))) = Gelu(x, tanh)",
    // Eight passes over memory become one. The approximation is the model's own and is kept
    // (Hendrycks and Gimpel, Gaussian Error Linear Units, section 2).
    .root = OpKind::kTanh,
    .match = MatchGeluFromTanh,
    .always_wins = true,
};

}  // namespace plait
