#include "optimizer/rules/patterns/graph_queries.h"
#include "optimizer/rules/rule.h"

namespace plait {

const Rule kRemoveRepeatedRelu = {
    .name = "remove_repeated_relu",
    .law = "Relu(Relu(x)) = Relu(x)",
    // The inner Relu leaves nothing below zero. It stays when something else reads it.
    .root = OpKind::kRelu,
    .match = [](const Rule&, const Graph& graph, NodeId node) -> Rewrites {
      if (ProducerOf(graph, node, 0, OpKind::kRelu) == kNoNode) return {};
      return {Rewrite::Replace(graph, node, graph.node(node).inputs[0])};
    },
    .always_wins = true,
};

}  // namespace plait
