#include <algorithm>

#include "optimizer/rules/rule.h"

namespace plait {

extern const Rule kRemoveNoopTranspose = {
    .name = "remove_noop_transpose",
    .law = "Transpose(x, 0 1 2 ..) = x",
    .root = OpKind::kTranspose,
    .match = [](const Graph& graph, NodeId node) -> std::optional<Rewrite> {
      const auto perm = graph.node(node).attributes->Ints("perm");
      const int rank = graph.input_type(node, 0).rank();
      // Without the attribute the axes are reversed.
      if (perm.empty() && rank > 1) return std::nullopt;
      if (!std::is_sorted(perm.begin(), perm.end())) return std::nullopt;
      return Rewrite::Replace(graph, node, graph.node(node).inputs[0]);
    },
    .always_wins = true,
};

}  // namespace plait
