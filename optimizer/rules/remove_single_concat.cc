#include "optimizer/rules/rule.h"

namespace plait {

extern const Rule kRemoveSingleConcat = {
    .name = "remove_single_concat",
    .law = "Concat(x) = x",
    .root = OpKind::kConcat,
    .match = [](const Graph& graph, NodeId node) -> std::optional<Rewrite> {
      if (graph.node(node).inputs.size() != 1) return std::nullopt;
      return Rewrite::Replace(graph, node, graph.node(node).inputs[0]);
    },
    .always_wins = true,
};

}  // namespace plait
