#include "optimizer/rules/patterns/graph_queries.h"
#include "optimizer/rules/rule.h"

namespace plait {

const Rule kRemoveAddZero = {
    .name = "remove_add_zero",
    .law = "x + 0 = x",
    // Only where the constant does not broadcast x to another shape.
    .root = OpKind::kAdd,
    .match = [](const Rule&, const Graph& graph, NodeId node) -> Rewrites {
      const auto side = OneConstantInput(graph, node);
      if (!side || ScalarAt(graph, node, side->constant) != 0.0) return {};
      if (graph.input_type(node, side->other) != graph.output_type(node)) return {};
      return {Rewrite::Replace(graph, node, graph.node(node).inputs[side->other])};
    },
    .always_wins = true,
};

}  // namespace plait
