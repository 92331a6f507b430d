#include <cmath>

#include "optimizer/rules/patterns/graph_queries.h"
#include "optimizer/rules/patterns/rewrite_builder.h"
#include "optimizer/rules/patterns/step_functions.h"
#include "optimizer/rules/rule.h"

namespace plait {
namespace {

Rewrites MatchDivideByConstant(const Rule&, const Graph& graph, NodeId node) {
  const auto side = OneConstantInput(graph, node);
  if (!side || side->constant != 1) return {};
  if (graph.output_type(node).dtype != DataType::kFloat32) return {};
  const Tensor* divisor = graph.inline_constant(node, 1);
  if (divisor == nullptr) return {};
  bool is_exact = true;
  for (double value : divisor->AsDoubles()) {
    if (!(std::abs(value) > 1e-30 && std::abs(value) < 1e30)) return {};
    int exponent = 0;
    if (std::abs(std::frexp(value, &exponent)) != 0.5) is_exact = false;
  }
  if (!is_exact && ReachesStep(graph, graph.node(node).outputs[0])) return {};
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
    // known: the reciprocal of zeros or denormals (below 1e-30) is not known to be harmless, nor
    // are reciprocals that are denormals. Quotients of whole numbers stay exact where that counts.
    .root = OpKind::kDiv,
    .match = MatchDivideByConstant,
    .always_wins = true,
    .rounds = true,
};

}  // namespace plait
