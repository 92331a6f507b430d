#include "optimizer/rules/patterns/average_pool_view.h"
#include "optimizer/rules/patterns/conv_view.h"
#include "optimizer/rules/rule.h"

namespace plait {
namespace {

Rewrites MatchConvBeforeAveragePool(const Rule&, const Graph& graph, NodeId node) {
  const auto conv = ViewConv(graph, node);
  const NodeId pool = SoleProducerOf(graph, node, 0, OpKind::kAveragePool);
  if (!conv || !IsPointwise(*conv) || pool == kNoNode) return {};
  if (conv->b != kNoTensor && !AverageKeepsConstants(graph, pool)) return {};
  RewriteBuilder builder(graph);
  const TensorId mixed = builder.Add(OpKind::kConv, conv->ToAttributes(),
                                     {graph.node(pool).inputs[0], conv->w, conv->b});
  return builder.Replace(node,
                         builder.Add(OpKind::kAveragePool, *graph.node(pool).attributes, {mixed}));
}

}  // namespace

const Rule kConvBeforeAveragePool = {
    .name = "conv_before_average_pool",
    .law = "Conv1x1(AveragePool(x), w, b) = AveragePool(Conv1x1(x, w, b))",
    // The inverse of average_pool_before_conv: pays where the convolution has fewer output than
    // input channels, or where it can then be merged with its siblings that read x.
    .root = OpKind::kConv,
    .match = MatchConvBeforeAveragePool,
};

}  // namespace plait
