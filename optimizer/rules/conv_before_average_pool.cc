#include "optimizer/rules/patterns/average_pool_view.h"
#include "optimizer/rules/patterns/conv_view.h"
#include "optimizer/rules/rule.h"

namespace plait {
namespace {

std::optional<Rewrite> Match(const Graph& graph, NodeId node) {
  const auto conv = ViewConv(graph, node);
  const NodeId pool = SoleProducerOf(graph, node, 0, OpKind::kAveragePool);
  if (!conv || !IsPointwise(*conv) || pool == kNoNode) return std::nullopt;
  if (conv->b != kNoTensor && !AverageKeepsConstants(graph, pool)) return std::nullopt;
  RewriteBuilder builder(graph);
  std::vector<TensorId> inputs = {graph.node(pool).inputs[0], conv->w};
  if (conv->b != kNoTensor) inputs.push_back(conv->b);
  const TensorId mixed = builder.Add(OpKind::kConv, conv->ToAttributes(), inputs);
  builder.Rewire(graph.node(node).outputs[0],
                 builder.Add(OpKind::kAveragePool, *graph.node(pool).attributes, {mixed}));
  builder.Remove(pool);
  builder.Remove(node);
  return builder.Finish();
}

}  // namespace

extern const Rule kConvBeforeAveragePool = {
    .name = "conv_before_average_pool",
    .law = "Conv1x1(AveragePool(x), w, b) = AveragePool(Conv1x1(x, w, b))",
    .root = OpKind::kConv,
    .match = Match,
};

}  // namespace plait
