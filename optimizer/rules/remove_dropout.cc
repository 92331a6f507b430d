#include "optimizer/rules/patterns/graph_queries.h"
#include "optimizer/rules/rule.h"

namespace plait {

const Rule kRemoveDropout = {
    .name = "remove_dropout",
    .law = "Dropout(x) = x at inference",
    // Not in training mode, and not when the mask is read: then it is more than a copy.
    .root = OpKind::kDropout,
    .match = [](const Rule&, const Graph& graph, NodeId node) -> Rewrites {
      const Node& dropout = graph.node(node);
      if (dropout.outputs.size() > 1 && dropout.outputs[1] != kNoTensor) return {};
      if (InputOr(graph, node, 2) != kNoTensor && ScalarAt(graph, node, 2) != 0.0) {
        return {};
      }
      return {Rewrite::Replace(graph, node, dropout.inputs[0])};
    },
    .always_wins = true,
};

}  // namespace plait
