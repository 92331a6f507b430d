#include "optimizer/rules/patterns/graph_queries.h"
#include "optimizer/rules/rule.h"

namespace plait {

extern const Rule kRemoveMulOne = {
    .name = "remove_mul_one",
    .law = "x * 1 = x",
    .root = OpKind::kMul,
    .match = [](const Graph& graph, NodeId node) -> std::optional<Rewrite> {
      const auto side = OneConstantInput(graph, node);
      if (!side || ScalarAt(graph, node, side->constant) != 1.0) return std::nullopt;
      // A scalar of higher rank would still broadcast the shape.
      if (!(graph.input_type(node, side->other) == graph.output_type(node))) return std::nullopt;
      return Rewrite::Replace(graph, node, graph.node(node).inputs[side->other]);
    },
    .always_wins = true,
};

}  // namespace plait
