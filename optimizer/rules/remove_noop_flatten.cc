#include "optimizer/rules/rule.h"

namespace plait {

extern const Rule kRemoveNoopFlatten = {
    .name = "remove_noop_flatten",
    .law = "Flatten(x) = x, when the shapes are equal",
    .root = OpKind::kFlatten,
    .match = [](const Graph& graph, NodeId node) -> std::optional<Rewrite> {
      if (!(graph.input_type(node, 0) == graph.output_type(node))) return std::nullopt;
      return Rewrite::Replace(graph, node, graph.node(node).inputs[0]);
    },
    .always_wins = true,
};

}  // namespace plait
