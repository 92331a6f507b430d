#include <algorithm>

#include "optimizer/ops/shared/permutation.h"
#include "optimizer/rules/rule.h"

namespace plait {

const Rule kRemoveNoopTranspose = {
    .name = "remove_noop_transpose",
    .law = "Transpose(x, 0 1 2 ..) = x",
    .root = OpKind::kTranspose,
    .match = [](const Rule&, const Graph& graph, NodeId node) -> Rewrites {
      const auto permutation = PermutationOf(graph, node);
      if (!std::is_sorted(permutation.begin(), permutation.end())) return {};
      return {Rewrite::Replace(graph, node, graph.node(node).inputs[0])};
    },
    .always_wins = true,
};

}  // namespace plait
