#include "optimizer/rules/rule.h"

namespace plait {

const Rule kRemoveNoopReshape = {
    .name = "remove_noop_reshape",
    .law = "Reshape(x, shape of x) = x, when the shapes are equal",
    // All shapes are known here, so that of the input need not be a constant of the model.
    .root = OpKind::kReshape,
    .match = [](const Rule&, const Graph& graph, NodeId node) -> Rewrites {
      if (graph.input_type(node, 0) != graph.output_type(node)) return {};
      return {Rewrite::Replace(graph, node, graph.node(node).inputs[0])};
    },
    .always_wins = true,
};

}  // namespace plait
