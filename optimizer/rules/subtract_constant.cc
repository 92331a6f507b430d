#include "optimizer/rules/patterns/graph_queries.h"
#include "optimizer/rules/patterns/rewrite_builder.h"
#include "optimizer/rules/rule.h"

namespace plait {
namespace {

Rewrites MatchSubtractConstant(const Rule&, const Graph& graph, NodeId node) {
  const auto side = OneConstantInput(graph, node);
  if (!side || side->constant != 1) return {};
  if (!IsFloat(graph.output_type(node).dtype)) return {};
  const auto& inputs = graph.node(node).inputs;
  RewriteBuilder builder(graph);
  const TensorId negated = builder.Fold(OpKind::kNeg, {inputs[1]});
  return builder.Replace(node, builder.Add(OpKind::kAdd, {}, {inputs[0], negated}));
}

}  // namespace

const Rule kSubtractConstant = {
    .name = "subtract_constant",
    .law = "x - c = x + (-c), c constant",
    // One form for both, so that the rules on biases need to know Add only.
    .root = OpKind::kSub,
    .match = MatchSubtractConstant,
    .always_wins = true,
};

}  // namespace plait
