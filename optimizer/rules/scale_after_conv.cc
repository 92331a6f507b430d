#include "optimizer/rules/patterns/conv_view.h"
#include "optimizer/rules/rule.h"

namespace plait {
namespace {

Rewrites MatchScaleAfterConv(const Rule& rule, const Graph& graph, NodeId node) {
  const auto found = ConvThenPerChannel(graph, node, rule.misses);
  if (!found) return {};
  const auto& [conv, constant] = *found;
  RewriteBuilder builder(graph);
  const TensorId scale = AsChannelVector(&builder, constant, conv.output_channels);
  const TensorId per_filter = builder.Reshape(scale, {conv.output_channels, 1, 1, 1});
  const TensorId w = builder.Fold(OpKind::kMul, {conv.w, per_filter});
  const TensorId b = conv.b == kNoTensor ? kNoTensor : builder.Fold(OpKind::kMul, {conv.b, scale});
  return builder.Replace(node, builder.Add(OpKind::kConv, conv.ToAttributes(), {conv.x, w, b}));
}

}  // namespace

const Rule kScaleAfterConv = {
    .name = "scale_after_conv",
    .law = "Conv(x, w, b) * c = Conv(x, w * c, b * c), c per output channel",
    // The product moves into the weights, which are computed once. Each filter makes one output
    // channel, so this holds for groups too.
    .root = OpKind::kMul,
    .match = MatchScaleAfterConv,
    .always_wins = true,
};

}  // namespace plait
