#include "optimizer/rules/patterns/graph_queries.h"
#include "optimizer/rules/rule.h"

namespace plait {

extern const Rule kRemoveRepeatedRelu = {
    .name = "remove_repeated_relu",
    .law = "Relu(Relu(x)) = Relu(x)",
    .root = OpKind::kRelu,
    .match = [](const Graph& graph, NodeId node) -> std::optional<Rewrite> {
      if (ProducerOf(graph, node, 0, OpKind::kRelu) == kNoNode) return std::nullopt;
      return Rewrite::Replace(graph, node, graph.node(node).inputs[0]);
    },
    .always_wins = true,
};

}  // namespace plait
