#include "optimizer/rules/rule.h"

namespace plait {

const Rule kRemoveIdentity = {
    .name = "remove_identity",
    .law = "Identity(x) = x",
    // Exporters and other rules leave copies; a copy costs a launch and memory traffic.
    .root = OpKind::kIdentity,
    .match = [](const Rule&, const Graph& graph, NodeId node) -> Rewrites {
      return {Rewrite::Replace(graph, node, graph.node(node).inputs[0])};
    },
    .always_wins = true,
};

}  // namespace plait
