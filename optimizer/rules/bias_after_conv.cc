#include "optimizer/rules/patterns/conv_view.h"
#include "optimizer/rules/rule.h"

namespace plait {
namespace {

Rewrites MatchBiasAfterConv(const Rule& rule, const Graph& graph, NodeId node) {
  const auto found = ConvThenPerChannel(graph, node, rule.misses);
  if (!found) return {};
  const auto& [conv, constant] = *found;
  RewriteBuilder builder(graph);
  TensorId b = AsChannelVector(&builder, constant, conv.output_channels);
  if (conv.b != kNoTensor) b = builder.Fold(OpKind::kAdd, {conv.b, b});
  return builder.Replace(node,
                         builder.Add(OpKind::kConv, conv.ToAttributes(), {conv.x, conv.w, b}));
}

}  // namespace

const Rule kBiasAfterConv = {
    .name = "bias_after_conv",
    .law = "Conv(x, w, b) + c = Conv(x, w, b + c), c per output channel",
    // Convolutions add a bias where they write their result anyway.
    .root = OpKind::kAdd,
    .match = MatchBiasAfterConv,
    .always_wins = true,
};

}  // namespace plait
