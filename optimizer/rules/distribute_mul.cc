#include "optimizer/rules/patterns/graph_queries.h"
#include "optimizer/rules/patterns/rewrite_builder.h"
#include "optimizer/rules/rule.h"

namespace plait {
namespace {

Rewrites MatchDistributeMul(const Rule&, const Graph& graph, NodeId node) {
  const NodeId first = SoleProducerOf(graph, node, 0, OpKind::kMul);
  const NodeId second = SoleProducerOf(graph, node, 1, OpKind::kMul);
  if (first == kNoNode || second == kNoNode || first == second) return {};
  for (int i : {0, 1}) {
    for (int j : {0, 1}) {
      const TensorId factor = graph.node(first).inputs[i];
      const TensorId x = graph.node(first).inputs[1 - i];
      const TensorId y = graph.node(second).inputs[1 - j];
      if (graph.node(second).inputs[j] != factor || graph.type(x) != graph.type(y)) continue;
      RewriteBuilder builder(graph);
      const TensorId sum = builder.Add(OpKind::kAdd, {}, {x, y});
      return builder.Replace(node, builder.Add(OpKind::kMul, {}, {sum, factor}));
    }
  }
  return {};
}

}  // namespace

const Rule kDistributeMul = {
    .name = "distribute_mul",
    .law = "x * c + y * c = (x + y) * c",
    // One product less. x and y have one type, so that their sum is not broadcast to a larger one.
    .root = OpKind::kAdd,
    .match = MatchDistributeMul,
};

}  // namespace plait
