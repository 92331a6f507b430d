#include "absl/algorithm/container.h"
#include "optimizer/ops/shared/slice_ranges.h"
#include "optimizer/rules/rule.h"

namespace plait {

const Rule kRemoveNoopSlice = {
    .name = "remove_noop_slice",
    .law = "Slice(x, everything, step 1) = x",
    // An equal shape is not enough: a negative step keeps it and reverses the axis.
    .root = OpKind::kSlice,
    .match = [](const Rule&, const Graph& graph, NodeId node) -> Rewrites {
      if (graph.input_type(node, 0) != graph.output_type(node)) return {};
      const auto ranges = ReadSlice(graph, node);
      const auto is_reversed = [](const SliceRange& range) { return range.step < 0; };
      if (!ranges.ok() || absl::c_any_of(*ranges, is_reversed)) return {};
      return {Rewrite::Replace(graph, node, graph.node(node).inputs[0])};
    },
    .always_wins = true,
};

}  // namespace plait
