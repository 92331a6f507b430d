#include "optimizer/rules/patterns/average_pool_view.h"
#include "optimizer/rules/patterns/conv_view.h"
#include "optimizer/rules/rule.h"

namespace plait {
namespace {

Rewrites MatchAveragePoolBeforeConv(const Rule&, const Graph& graph, NodeId node) {
  const NodeId conv_node = SoleProducerOf(graph, node, 0, OpKind::kConv);
  if (conv_node == kNoNode) return {};
  const auto conv = ViewConv(graph, conv_node);
  if (!conv || !IsPointwise(*conv)) return {};
  if (conv->b != kNoTensor && !AverageKeepsConstants(graph, node)) return {};
  RewriteBuilder builder(graph);
  const TensorId pooled =
      builder.Add(OpKind::kAveragePool, *graph.node(node).attributes, {conv->x});
  return builder.Replace(
      node, builder.Add(OpKind::kConv, conv->ToAttributes(), {pooled, conv->w, conv->b}));
}

}  // namespace

const Rule kAveragePoolBeforeConv = {
    .name = "average_pool_before_conv",
    .law = "AveragePool(Conv1x1(x, w, b)) = Conv1x1(AveragePool(x), w, b)",
    // A mean over places and a mix of channels commute. A pool that strides leaves the convolution
    // a fraction of its places; a bias passes only where the mean of a constant is that constant.
    .root = OpKind::kAveragePool,
    .match = MatchAveragePoolBeforeConv,
};

}  // namespace plait
