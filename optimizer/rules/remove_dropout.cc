#include "optimizer/rules/patterns/graph_queries.h"
#include "optimizer/rules/rule.h"

namespace plait {

extern const Rule kRemoveDropout = {
    .name = "remove_dropout",
    .law = "Dropout(x) = x at inference",
    .root = OpKind::kDropout,
    .match = [](const Graph& graph, NodeId node) -> std::optional<Rewrite> {
      const Node& dropout = graph.node(node);
      // In training mode, or when the mask is read, it is more than a copy.
      if (dropout.outputs.size() > 1 && dropout.outputs[1] != kNoTensor) return std::nullopt;
      if (InputOr(graph, node, 2) != kNoTensor && ScalarAt(graph, node, 2) != 0.0) {
        return std::nullopt;
      }
      return Rewrite::Replace(graph, node, dropout.inputs[0]);
    },
    .always_wins = true,
};

}  // namespace plait
