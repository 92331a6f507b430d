#include "absl/strings/str_cat.h"
#include "optimizer/rules/patterns/conv_view.h"
#include "optimizer/rules/patterns/reasons.h"
#include "optimizer/rules/rule.h"

namespace plait {
namespace {

Rewrites MatchScaleBeforeConv(const Rule& rule, const Graph& graph, NodeId node) {
  const NodeId scale_node = SoleProducerOf(graph, node, 0, OpKind::kMul, rule.misses);
  if (scale_node == kNoNode) return {};
  const auto conv = ViewConv(graph, node, rule.misses);
  if (!conv) return {};
  const auto miss = [&](NodeId at, absl::string_view what) {
    return rule.misses.Because([&] { return absl::StrCat(NodeText(graph, at), what); });
  };
  if (conv->group != 1) return miss(node, " has groups");
  const auto side = OneConstantInput(graph, scale_node);
  if (!side) return miss(scale_node, " has no constant factor");
  const int64_t channels = graph.type(conv->w).shape[1];
  const TensorId factor = graph.node(scale_node).inputs[side->constant];
  if (!IsPerChannel(graph.type(factor), 4, 1, channels)) {
    return NotPerChannel(graph, factor, channels, rule.misses);
  }
  if (graph.input_type(scale_node, side->other) != graph.output_type(scale_node)) {
    return miss(scale_node, " broadcasts what the convolution reads");
  }
  const TensorId x = graph.node(scale_node).inputs[side->other];
  RewriteBuilder builder(graph);
  const TensorId scale = AsChannelVector(&builder, factor, channels);
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
    .match = MatchScaleBeforeConv,
    .always_wins = true,
};

}  // namespace plait
