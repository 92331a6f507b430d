#include "optimizer/rules/patterns/conv_view.h"
#include "optimizer/rules/rule.h"

namespace plait {
namespace {

Rewrites Match(const Rule&, const Graph& graph, NodeId node) {
  const auto conv = ViewConv(graph, node);
  if (!conv || conv->group != 1) return {};
  const NodeId scale_node = SoleProducerOf(graph, node, 0, OpKind::kMul);
  if (scale_node == kNoNode) return {};
  const auto side = OneConstantInput(graph, scale_node);
  const int64_t channels = graph.type(conv->w).shape[1];
  if (!side || !IsPerChannel(graph.input_type(scale_node, side->constant), 4, 1, channels) ||
      graph.input_type(scale_node, side->other) != graph.output_type(scale_node)) {
    return {};
  }
  const TensorId x = graph.node(scale_node).inputs[side->other];
  RewriteBuilder builder(graph);
  const TensorId scale =
      AsChannelVector(&builder, graph.node(scale_node).inputs[side->constant], channels);
  const TensorId w =
      builder.Fold(OpKind::kMul, {conv->w, builder.Reshape(scale, {1, channels, 1, 1})});
  return builder.Replace(node, builder.Add(OpKind::kConv, conv->ToAttributes(), {x, w, conv->b}));
}

}  // namespace

const Rule kScaleBeforeConv = {
    .name = "scale_before_conv",
    .law = "Conv(x * c, w, b) = Conv(x, w * c, b), c per input channel",
    // Padding adds zeros, and a scale keeps zero: so it may pass, where a shift may not. With
    // groups a filter would read other channels than its position in w says.
    .root = OpKind::kConv,
    .match = Match,
    .always_wins = true,
};

}  // namespace plait
