#include <algorithm>

#include "optimizer/rules/rule.h"

namespace plait {

const Rule kRemoveNoopTranspose = {
    .name = "remove_noop_transpose",
    .law = "Transpose(x, 0 1 2 ..) = x",
    // Without the attribute the axes are reversed, so that is no identity above rank 1.
    .root = OpKind::kTranspose,
    .match = [](const Rule&, const Graph& graph, NodeId node) -> Rewrites {
      const auto perm = graph.node(node).attributes->Ints("perm");
      const int rank = graph.input_type(node, 0).rank();
      if (perm.empty() && rank > 1) return {};
      if (!std::is_sorted(perm.begin(), perm.end())) return {};
      return {Rewrite::Replace(graph, node, graph.node(node).inputs[0])};
    },
    .always_wins = true,
};

}  // namespace plait
