#include <algorithm>

#include "optimizer/rules/patterns/graph_queries.h"
#include "optimizer/rules/rule.h"

namespace plait {

const Rule kRemoveNoopSlice = {
    .name = "remove_noop_slice",
    .law = "Slice(x, everything, step 1) = x",
    // An equal shape is not enough: a negative step keeps it and reverses the axis.
    .root = OpKind::kSlice,
    .match = [](const Rule&, const Graph& graph, NodeId node) -> Rewrites {
      if (graph.input_type(node, 0) != graph.output_type(node)) return {};
      if (InputOr(graph, node, 4) != kNoTensor) {
        const auto steps = IntsAt(graph, node, 4);
        if (!steps || std::any_of(steps->begin(), steps->end(), [](int64_t s) { return s < 0; })) {
          return {};
        }
      }
      return {Rewrite::Replace(graph, node, graph.node(node).inputs[0])};
    },
    .always_wins = true,
};

}  // namespace plait
