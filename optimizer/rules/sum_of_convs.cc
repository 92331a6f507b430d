#include "optimizer/rules/patterns/sum_of_convs_pattern.h"
#include "optimizer/rules/rule.h"

namespace plait {
namespace {

Rewrites MatchSumOfConvs(const Rule& rule, const Graph& graph, NodeId node) {
  const auto pair = ReadSumOfConvs(graph, node, rule.misses);
  if (!pair || pair->first.x == pair->second.x) return {};
  const auto& [first, second] = *pair;
  const Shape& a = graph.type(first.x).shape;
  const Shape& b = graph.type(second.x).shape;
  // Equal steps and outputs leave room for inputs that differ by what the stride skips.
  if (a[0] != b[0] || a[2] != b[2] || a[3] != b[3]) {
    return rule.misses.Because("the convolutions read images of other sizes");
  }
  RewriteBuilder builder(graph);
  const Attributes along_channels{{"axis", int64_t{1}}};
  const TensorId x = builder.Add(OpKind::kConcat, along_channels, {first.x, second.x});
  const TensorId w = builder.Fold(OpKind::kConcat, {first.w, second.w}, along_channels);
  const TensorId bias = SumOfBiases(&builder, *pair);
  return builder.Replace(node, builder.Add(OpKind::kConv, first.ToAttributes(), {x, w, bias}));
}

}  // namespace

const Rule kSumOfConvs = {
    .name = "sum_of_convs",
    .law = "Conv(x, w, b) + Conv(y, v, c) = Conv(Concat(x, y), Concat(w, v), b + c)",
    // The sum over input channels takes the sum of the two along; the inputs must be copied side
    // by side, unless they were computed so.
    .root = OpKind::kAdd,
    .match = MatchSumOfConvs,
};

}  // namespace plait
