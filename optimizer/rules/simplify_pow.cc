#include "optimizer/rules/patterns/graph_queries.h"
#include "optimizer/rules/patterns/rewrite_builder.h"
#include "optimizer/rules/rule.h"

namespace plait {
namespace {

Rewrites MatchSimplifyPow(const Rule&, const Graph& graph, NodeId node) {
  const auto exponent = ScalarAt(graph, node, 1);
  if (!exponent || !IsFloat(graph.input_type(node, 0).dtype)) return {};
  const TensorId x = graph.node(node).inputs[0];
  RewriteBuilder builder(graph);
  if (*exponent == 1) return builder.Replace(node, x);
  if (*exponent == 2) return builder.Replace(node, builder.Add(OpKind::kMul, {}, {x, x}));
  if (*exponent == 0.5) return builder.Replace(node, builder.Add(OpKind::kSqrt, {}, {x}));
  return {};
}

}  // namespace

const Rule kSimplifyPow = {
    .name = "simplify_pow",
    .law = "Pow(x, 2) = x * x; Pow(x, 1) = x; Pow(x, 0.5) = Sqrt(x)",
    // A general power costs a logarithm and an exponential for every element.
    .root = OpKind::kPow,
    .match = MatchSimplifyPow,
    .always_wins = true,
};

}  // namespace plait
