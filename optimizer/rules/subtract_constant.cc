#include "optimizer/rules/patterns/graph_queries.h"
#include "optimizer/rules/patterns/rewrite_builder.h"
#include "optimizer/rules/rule.h"

namespace plait {
namespace {

std::optional<Rewrite> Match(const Graph& graph, NodeId node) {
  const auto side = OneConstantInput(graph, node);
  if (!side || side->constant != 1) return std::nullopt;
  if (!IsFloat(graph.output_type(node).dtype)) return std::nullopt;
  RewriteBuilder builder(graph);
  const TensorId negated = builder.AddConstant(
      builder.Fold(OpKind::kNeg, {}, {builder.ConstantOf(graph.node(node).inputs[1])}));
  const TensorId sum = builder.Add(OpKind::kAdd, {}, {graph.node(node).inputs[0], negated});
  builder.Rewire(graph.node(node).outputs[0], sum);
  builder.Remove(node);
  return builder.Finish();
}

}  // namespace

extern const Rule kSubtractConstant = {
    .name = "subtract_constant",
    .law = "x - c = x + (-c), c constant",
    .root = OpKind::kSub,
    .match = Match,
    .always_wins = true,
};

}  // namespace plait
