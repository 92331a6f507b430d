#include "optimizer/rules/patterns/graph_queries.h"
#include "optimizer/rules/patterns/rewrite_builder.h"
#include "optimizer/rules/rule.h"

namespace plait {
namespace {

std::optional<Rewrite> Match(const Graph& graph, NodeId node) {
  const auto side = OneConstantInput(graph, node);
  if (!side || side->constant != 1) return std::nullopt;
  if (graph.output_type(node).dtype != DataType::kFloat32) return std::nullopt;
  // The reciprocal of a constant that may hold zeros or denormals is not known to be harmless.
  if (graph.inline_constant(node, 1) == nullptr) return std::nullopt;
  for (double value : graph.inline_constant(node, 1)->AsDoubles()) {
    if (!(value > 1e-30 || value < -1e-30)) return std::nullopt;
  }
  RewriteBuilder builder(graph);
  const TensorId reciprocal = builder.AddConstant(
      builder.Fold(OpKind::kReciprocal, {}, {builder.ConstantOf(graph.node(node).inputs[1])}));
  const TensorId product = builder.Add(OpKind::kMul, {}, {graph.node(node).inputs[0], reciprocal});
  builder.Rewire(graph.node(node).outputs[0], product);
  builder.Remove(node);
  return builder.Finish();
}

}  // namespace

extern const Rule kDivideByConstant = {
    .name = "divide_by_constant",
    .law = "x / c = x * (1 / c), c a constant without zeros",
    .root = OpKind::kDiv,
    .match = Match,
    .always_wins = true,
    .rounds = true,
};

}  // namespace plait
