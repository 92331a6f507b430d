#include "optimizer/ops/shared/permutation.h"
#include "optimizer/rules/patterns/graph_queries.h"
#include "optimizer/rules/patterns/rewrite_builder.h"
#include "optimizer/rules/rule.h"

namespace plait {
namespace {

Rewrites MatchMergeTransposes(const Rule&, const Graph& graph, NodeId node) {
  const NodeId inner = ProducerOf(graph, node, 0, OpKind::kTranspose);
  if (inner == kNoNode) return {};
  const TensorId x = graph.node(inner).inputs[0];
  const auto first = PermutationOf(graph, inner);
  std::vector<int64_t> perm;
  for (int64_t axis : PermutationOf(graph, node)) perm.push_back(first[axis]);
  RewriteBuilder builder(graph);
  return builder.Replace(node, builder.Add(OpKind::kTranspose, {{"perm", perm}}, {x}));
}

}  // namespace

const Rule kMergeTransposes = {
    .name = "merge_transposes",
    .law = "Transpose(Transpose(x, p), q) = Transpose(x, p after q)",
    // The inner one may have other readers: then it stays, and the outer one no longer waits for
    // it.
    .root = OpKind::kTranspose,
    .match = MatchMergeTransposes,
    .always_wins = true,
};

}  // namespace plait
