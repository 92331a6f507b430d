#include "optimizer/rules/rule.h"

namespace plait {

extern const Rule kRemoveIdentity = {
    .name = "remove_identity",
    .law = "Identity(x) = x",
    .root = OpKind::kIdentity,
    .match = [](const Graph& graph, NodeId node) -> std::optional<Rewrite> {
      return Rewrite::Replace(graph, node, graph.node(node).inputs[0]);
    },
    .always_wins = true,
};

}  // namespace plait
