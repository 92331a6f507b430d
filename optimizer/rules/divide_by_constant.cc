#include "optimizer/rules/patterns/graph_queries.h"
#include "optimizer/rules/patterns/rewrite_builder.h"
#include "optimizer/rules/rule.h"

namespace plait {
namespace {

Rewrites Match(const Rule&, const Graph& graph, NodeId node) {
  const auto side = OneConstantInput(graph, node);
  if (!side || side->constant != 1) return {};
  if (graph.output_type(node).dtype != DataType::kFloat32) return {};
  const Tensor* divisor = graph.inline_constant(node, 1);
  if (divisor == nullptr) return {};
  for (double value : divisor->AsDoubles()) {
    if (!(value > 1e-30 || value < -1e-30)) return {};
  }
  const auto& inputs = graph.node(node).inputs;
  RewriteBuilder builder(graph);
  const TensorId reciprocal = builder.Fold(OpKind::kReciprocal, {inputs[1]});
  return builder.Replace(node, builder.Add(OpKind::kMul, {}, {inputs[0], reciprocal}));
}

}  // namespace

const Rule kDivideByConstant = {
    .name = "divide_by_constant",
    .law = "x / c = x * (1 / c), c a constant without zeros",
    // A product is cheaper, and other rules fold it into weights. Only where the value of c is
    // known: the reciprocal of zeros or denormals (below 1e-30) is not known to be harmless.
    .root = OpKind::kDiv,
    .match = Match,
    .always_wins = true,
    .rounds = true,
};

}  // namespace plait
