#include "optimizer/rules/rule.h"

namespace plait {

extern const Rule kRemoveNoopExpand = {
    .name = "remove_noop_expand",
    .law = "Expand(x, shape of x) = x, when the shapes are equal",
    .root = OpKind::kExpand,
    .match = [](const Graph& graph, NodeId node) -> std::optional<Rewrite> {
      if (!(graph.input_type(node, 0) == graph.output_type(node))) return std::nullopt;
      return Rewrite::Replace(graph, node, graph.node(node).inputs[0]);
    },
    .always_wins = true,
};

}  // namespace plait
