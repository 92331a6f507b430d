#include "optimizer/rules/patterns/graph_queries.h"
#include "optimizer/rules/patterns/rewrite_builder.h"
#include "optimizer/rules/rule.h"

namespace plait {
namespace {

Rewrites MatchSwishFromSigmoid(const Rule& rule, const Graph& graph, NodeId node) {
  for (int index : {0, 1}) {
    const NodeId sigmoid = ProducerOf(graph, node, index, OpKind::kSigmoid);
    const TensorId x = graph.node(node).inputs[1 - index];
    if (sigmoid == kNoNode || graph.node(sigmoid).inputs[0] != x) continue;
    if (SoleProducerOf(graph, node, index, OpKind::kSigmoid, rule.misses) == kNoNode) continue;
    RewriteBuilder builder(graph);
    return builder.Replace(node, builder.Add(OpKind::kSwish, {}, {x}));
  }
  return {};
}

}  // namespace

const Rule kSwishFromSigmoid = {
    .name = "swish_from_sigmoid",
    .law = "x * Sigmoid(x) = Swish(x)",
    // One elementwise operator that a convolution can take along, in the place of two.
    .root = OpKind::kMul,
    .match = MatchSwishFromSigmoid,
    .always_wins = true,
};

}  // namespace plait
