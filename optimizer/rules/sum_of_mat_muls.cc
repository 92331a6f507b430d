#include "optimizer/rules/patterns/graph_queries.h"
#include "optimizer/rules/patterns/rewrite_builder.h"
#include "optimizer/rules/rule.h"

namespace plait {
namespace {

Rewrites MatchSumOfMatMuls(const Rule& rule, const Graph& graph, NodeId node) {
  for (const int index : {0, 1}) {
    if (ProducerOf(graph, node, index, OpKind::kMatMul) == kNoNode) return {};
  }
  const NodeId first = SoleProducerOf(graph, node, 0, OpKind::kMatMul, rule.misses);
  const NodeId second = SoleProducerOf(graph, node, 1, OpKind::kMatMul, rule.misses);
  if (first == kNoNode || second == kNoNode || first == second) return {};
  const auto& a = graph.node(first).inputs;
  const auto& b = graph.node(second).inputs;
  RewriteBuilder builder(graph);
  TensorId x = a[0];
  TensorId w = a[1];
  if (a[0] == b[0] && graph.constant(first, 1) != nullptr && graph.constant(second, 1) != nullptr &&
      graph.type(a[1]) == graph.type(b[1])) {
    w = builder.Fold(OpKind::kAdd, {a[1], b[1]});
  } else if (a[1] == b[1] && graph.type(a[0]) == graph.type(b[0])) {
    x = builder.Add(OpKind::kAdd, {}, {a[0], b[0]});
  } else {
    return rule.misses.Because(
        "the products share neither what they multiply, with constant weights, nor their weights");
  }
  return builder.Replace(node, builder.Add(OpKind::kMatMul, {}, {x, w}));
}

}  // namespace

const Rule kSumOfMatMuls = {
    .name = "sum_of_mat_muls",
    .law =
        "MatMul(x, w) + MatMul(x, v) = MatMul(x, w + v); MatMul(x, w) + MatMul(y, w) = "
        "MatMul(x + y, w)",
    // One product in the place of two; equal types, so that no sum is broadcast.
    .root = OpKind::kAdd,
    .match = MatchSumOfMatMuls,
    .always_wins = true,
};

}  // namespace plait
