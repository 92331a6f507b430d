#include "optimizer/rules/patterns/conv_view.h"
#include "optimizer/rules/rule.h"

namespace plait {
namespace {

// Padding adds zeros, and a scale keeps zero: so it may pass, where a shift may not.
std::optional<Rewrite> Match(const Graph& graph, NodeId node) {
  auto conv = ViewConv(graph, node);
  if (!conv || conv->group != 1) return std::nullopt;
  const NodeId scale_node = SoleProducerOf(graph, node, 0, OpKind::kMul);
  if (scale_node == kNoNode) return std::nullopt;
  const auto side = OneConstantInput(graph, scale_node);
  const int64_t channels = graph.type(conv->w).shape[1];
  if (!side || !IsPerChannel(graph.input_type(scale_node, side->constant), 4, 1, channels) ||
      !(graph.input_type(scale_node, side->other) == graph.output_type(scale_node))) {
    return std::nullopt;
  }
  RewriteBuilder builder(graph);
  const ConstantRef scale = AsChannelVector(
      &builder, builder.ConstantOf(graph.node(scale_node).inputs[side->constant]), channels);
  const TensorId w = builder.AddConstant(
      builder.Fold(OpKind::kMul, {},
                   {builder.ConstantOf(conv->w), builder.FoldReshape(scale, {1, channels, 1, 1})}));
  std::vector<TensorId> inputs = {graph.node(scale_node).inputs[side->other], w};
  if (conv->b != kNoTensor) inputs.push_back(conv->b);
  builder.Rewire(graph.node(node).outputs[0],
                 builder.Add(OpKind::kConv, conv->ToAttributes(), inputs));
  builder.Remove(scale_node);
  builder.Remove(node);
  return builder.Finish();
}

}  // namespace

extern const Rule kScaleBeforeConv = {
    .name = "scale_before_conv",
    .law = "Conv(x * c, w, b) = Conv(x, w * c, b), c per input channel",
    .root = OpKind::kConv,
    .match = Match,
    .always_wins = true,
};

}  // namespace plait
