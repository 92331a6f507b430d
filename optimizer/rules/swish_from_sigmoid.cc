#include "optimizer/rules/patterns/graph_queries.h"
#include "optimizer/rules/patterns/rewrite_builder.h"
#include "optimizer/rules/rule.h"

namespace plait {
namespace {

std::optional<Rewrite> Match(const Graph& graph, NodeId node) {
  for (int index : {0, 1}) {
    const NodeId sigmoid = SoleProducerOf(graph, node, index, OpKind::kSigmoid);
    if (sigmoid == kNoNode) continue;
    const TensorId x = graph.node(node).inputs[1 - index];
    if (graph.node(sigmoid).inputs[0] != x) continue;
    RewriteBuilder builder(graph);
    builder.Rewire(graph.node(node).outputs[0], builder.Add(OpKind::kSwish, {}, {x}));
    builder.Remove(sigmoid);
    builder.Remove(node);
    return builder.Finish();
  }
  return std::nullopt;
}

}  // namespace

extern const Rule kSwishFromSigmoid = {
    .name = "swish_from_sigmoid",
    .law = "x * Sigmoid(x) = Swish(x)",
    .root = OpKind::kMul,
    .match = Match,
    .always_wins = true,
};

}  // namespace plait
