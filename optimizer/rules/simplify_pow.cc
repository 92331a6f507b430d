#include "optimizer/rules/patterns/graph_queries.h"
#include "optimizer/rules/patterns/rewrite_builder.h"
#include "optimizer/rules/rule.h"

namespace plait {
namespace {

std::optional<Rewrite> Match(const Graph& graph, NodeId node) {
  const auto exponent = ScalarAt(graph, node, 1);
  if (!exponent || !IsFloat(graph.input_type(node, 0).dtype)) return std::nullopt;
  const TensorId base = graph.node(node).inputs[0];
  if (*exponent == 1) return Rewrite::Replace(graph, node, base);
  RewriteBuilder builder(graph);
  TensorId power = kNoTensor;
  if (*exponent == 2) power = builder.Add(OpKind::kMul, {}, {base, base});
  if (*exponent == 0.5) power = builder.Add(OpKind::kSqrt, {}, {base});
  if (power == kNoTensor) return std::nullopt;
  builder.Rewire(graph.node(node).outputs[0], power);
  builder.Remove(node);
  return builder.Finish();
}

}  // namespace

extern const Rule kSimplifyPow = {
    .name = "simplify_pow",
    .law = "Pow(x, 2) = x * x; Pow(x, 1) = x; Pow(x, 0.5) = Sqrt(x)",
    .root = OpKind::kPow,
    .match = Match,
    .always_wins = true,
};

}  // namespace plait
