#include "optimizer/rules/patterns/average_pool_view.h"
#include "optimizer/rules/patterns/conv_view.h"
#include "optimizer/rules/rule.h"

namespace plait {
namespace {

std::optional<Rewrite> Match(const Graph& graph, NodeId node) {
  const NodeId conv_node = SoleProducerOf(graph, node, 0, OpKind::kConv);
  if (conv_node == kNoNode) return std::nullopt;
  const auto conv = ViewConv(graph, conv_node);
  if (!conv || !IsPointwise(*conv)) return std::nullopt;
  if (conv->b != kNoTensor && !AverageKeepsConstants(graph, node)) return std::nullopt;
  RewriteBuilder builder(graph);
  const TensorId pooled =
      builder.Add(OpKind::kAveragePool, *graph.node(node).attributes, {conv->x});
  std::vector<TensorId> inputs = {pooled, conv->w};
  if (conv->b != kNoTensor) inputs.push_back(conv->b);
  builder.Rewire(graph.node(node).outputs[0],
                 builder.Add(OpKind::kConv, conv->ToAttributes(), inputs));
  builder.Remove(conv_node);
  builder.Remove(node);
  return builder.Finish();
}

}  // namespace

extern const Rule kAveragePoolBeforeConv = {
    .name = "average_pool_before_conv",
    .law = "AveragePool(Conv1x1(x, w, b)) = Conv1x1(AveragePool(x), w, b)",
    .root = OpKind::kAveragePool,
    .match = Match,
};

}  // namespace plait
