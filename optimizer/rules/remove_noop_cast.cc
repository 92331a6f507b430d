#include "optimizer/rules/rule.h"

namespace plait {

const Rule kRemoveNoopCast = {
    .name = "remove_noop_cast",
    .law = "Cast(x, type of x) = x",
    // No value changes where the types are equal.
    .root = OpKind::kCast,
    .match = [](const Rule&, const Graph& graph, NodeId node) -> Rewrites {
      if (graph.input_type(node, 0) != graph.output_type(node)) return {};
      return {Rewrite::Replace(graph, node, graph.node(node).inputs[0])};
    },
    .always_wins = true,
};

}  // namespace plait
