#include "optimizer/rules/rule.h"

namespace plait {

const Rule kRemoveSingleConcat = {
    .name = "remove_single_concat",
    .law = "Concat(x) = x",
    // Nothing is joined, but the copy would be made.
    .root = OpKind::kConcat,
    .match = [](const Rule&, const Graph& graph, NodeId node) -> Rewrites {
      if (graph.node(node).inputs.size() != 1) return {};
      return {Rewrite::Replace(graph, node, graph.node(node).inputs[0])};
    },
    .always_wins = true,
};

}  // namespace plait
