#include <algorithm>

#include "optimizer/rules/patterns/graph_queries.h"
#include "optimizer/rules/rule.h"

namespace plait {

extern const Rule kRemoveNoopSlice = {
    .name = "remove_noop_slice",
    .law = "Slice(x, everything, step 1) = x",
    .root = OpKind::kSlice,
    .match = [](const Graph& graph, NodeId node) -> std::optional<Rewrite> {
      if (!(graph.input_type(node, 0) == graph.output_type(node))) return std::nullopt;
      // A negative step keeps the shape but reverses the axis.
      if (InputOr(graph, node, 4) != kNoTensor) {
        const auto steps = IntsAt(graph, node, 4);
        if (!steps || std::any_of(steps->begin(), steps->end(), [](int64_t s) { return s < 0; })) {
          return std::nullopt;
        }
      }
      return Rewrite::Replace(graph, node, graph.node(node).inputs[0]);
    },
    .always_wins = true,
};

}  // namespace plait
