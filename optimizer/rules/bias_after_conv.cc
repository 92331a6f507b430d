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
  if (!conv || !IsPerChannel(graph.input_type(node, side->constant), 4, 1, conv->output_channels)) {
    return std::nullopt;
  }
  RewriteBuilder builder(graph);
  ConstantRef bias = AsChannelVector(
      &builder, builder.ConstantOf(graph.node(node).inputs[side->constant]), conv->output_channels);
  if (conv->b != kNoTensor) {
    bias = builder.Fold(OpKind::kAdd, {}, {builder.ConstantOf(conv->b), bias});
  }
  builder.Rewire(graph.node(node).outputs[0],
                 builder.Add(OpKind::kConv, conv->ToAttributes(),
                             {conv->x, conv->w, builder.AddConstant(bias)}));
  builder.Remove(conv_node);
  builder.Remove(node);
  return builder.Finish();
}

}  // namespace

extern const Rule kBiasAfterConv = {
    .name = "bias_after_conv",
    .law = "Conv(x, w, b) + c = Conv(x, w, b + c), c per output channel",
    .root = OpKind::kAdd,
    .match = Match,
    .always_wins = true,
};

}  // namespace plait
