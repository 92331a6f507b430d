#include "optimizer/rules/rule.h"

namespace plait {

const Rule kRemoveNoopExpand = {
    .name = "remove_noop_expand",
    .law = "Expand(x, shape of x) = x, when the shapes are equal",
    // Equal shapes leave nothing to repeat.
    .root = OpKind::kExpand,
    .match = [](const Rule&, const Graph& graph, NodeId node) -> Rewrites {
      if (graph.input_type(node, 0) != graph.output_type(node)) return {};
      return {Rewrite::Replace(graph, node, graph.node(node).inputs[0])};
    },
    .always_wins = true,
};

}  // namespace plait
