#include "optimizer/rules/patterns/sum_of_convs_pattern.h"
#include "optimizer/rules/rule.h"

namespace plait {
namespace {

Rewrites MatchSumOfConvsSameInput(const Rule& rule, const Graph& graph, NodeId node) {
  const auto pair = ReadSumOfConvs(graph, node, rule.misses);
  if (!pair) return {};
  if (pair->first.x != pair->second.x) {
    return rule.misses.Because("the convolutions read two inputs");
  }
  const auto& [first, second] = *pair;
  RewriteBuilder builder(graph);
  const TensorId w = builder.Fold(OpKind::kAdd, {first.w, second.w});
  const TensorId bias = SumOfBiases(&builder, *pair);
  return builder.Replace(node,
                         builder.Add(OpKind::kConv, first.ToAttributes(), {first.x, w, bias}));
}

}  // namespace

const Rule kSumOfConvsSameInput = {
    .name = "sum_of_convs_same_input",
    .law = "Conv(x, w, b) + Conv(x, v, c) = Conv(x, w + v, b + c)",
    // Convolution is linear in its weights, and the sum of the weights is computed once.
    .root = OpKind::kAdd,
    .match = MatchSumOfConvsSameInput,
    .always_wins = true,
};

}  // namespace plait
