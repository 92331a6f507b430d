#include "optimizer/rules/patterns/graph_queries.h"
#include "optimizer/rules/patterns/rewrite_builder.h"
#include "optimizer/rules/rule.h"

namespace plait {
namespace {

Rewrites MatchDistributeMatMul(const Rule&, const Graph& graph, NodeId node) {
  const NodeId first = SoleProducerOf(graph, node, 0, OpKind::kMatMul);
  const NodeId second = SoleProducerOf(graph, node, 1, OpKind::kMatMul);
  if (first == kNoNode || second == kNoNode || first == second) return {};
  const TensorId x = graph.node(first).inputs[0];
  const TensorId y = graph.node(first).inputs[1];
  const TensorId z = graph.node(second).inputs[1];
  if (graph.node(second).inputs[0] != x || y == z || graph.type(y) != graph.type(z)) return {};
  // Of constants sum_of_mat_muls takes care.
  if (graph.constant(first, 1) != nullptr && graph.constant(second, 1) != nullptr) return {};
  RewriteBuilder builder(graph);
  const TensorId sum = builder.Add(OpKind::kAdd, {}, {y, z});
  return builder.Replace(node, builder.Add(OpKind::kMatMul, {}, {x, sum}));
}

}  // namespace

const Rule kDistributeMatMul = {
    .name = "distribute_mat_mul",
    .law = "MatMul(x, y) + MatMul(x, z) = MatMul(x, y + z)",
    // One product less, and a sum of other matrices: for an x of few rows those are the larger
    // ones.
    .root = OpKind::kAdd,
    .match = MatchDistributeMatMul,
};

}  // namespace plait
