#include "optimizer/rules/rule.h"

namespace plait {

const Rule kRemoveNoopFlatten = {
    .name = "remove_noop_flatten",
    .law = "Flatten(x) = x, when the shapes are equal",
    // A matrix that is flattened behind its first axis is what it was.
    .root = OpKind::kFlatten,
    .match = [](const Rule&, const Graph& graph, NodeId node) -> Rewrites {
      if (graph.input_type(node, 0) != graph.output_type(node)) return {};
      return {Rewrite::Replace(graph, node, graph.node(node).inputs[0])};
    },
    .always_wins = true,
};

}  // namespace plait
