#include "optimizer/rules/patterns/conv_view.h"
#include "optimizer/rules/rule.h"

namespace plait {
namespace {

std::optional<Rewrite> Match(const Graph& graph, NodeId node) {
  const auto side = OneConstantInput(graph, node);
  if (!side) return std::nullopt;
  const NodeId conv_node = SoleProducerOf(graph, node, side->other, OpKind::kConv);
  if (conv_node == kNoNode) return std::nullopt;
  auto conv = ViewConv(graph, conv_node);
  const TensorType& scale_type = graph.input_type(node, side->constant);
  if (!conv || !IsPerChannel(scale_type, 4, 1, conv->output_channels)) return std::nullopt;
  RewriteBuilder builder(graph);
  const ConstantRef scale = AsChannelVector(
      &builder, builder.ConstantOf(graph.node(node).inputs[side->constant]), conv->output_channels);
  const ConstantRef per_filter = builder.FoldReshape(scale, {conv->output_channels, 1, 1, 1});
  const TensorId w = builder.AddConstant(
      builder.Fold(OpKind::kMul, {}, {builder.ConstantOf(conv->w), per_filter}));
  std::vector<TensorId> inputs = {conv->x, w};
  if (conv->b != kNoTensor) {
    inputs.push_back(
        builder.AddConstant(builder.Fold(OpKind::kMul, {}, {builder.ConstantOf(conv->b), scale})));
  }
  builder.Rewire(graph.node(node).outputs[0],
                 builder.Add(OpKind::kConv, conv->ToAttributes(), inputs));
  builder.Remove(conv_node);
  builder.Remove(node);
  return builder.Finish();
}

}  // namespace

extern const Rule kScaleAfterConv = {
    .name = "scale_after_conv",
    .law = "Conv(x, w, b) * c = Conv(x, w * c, b * c), c per output channel",
    .root = OpKind::kMul,
    .match = Match,
    .always_wins = true,
};

}  // namespace plait
