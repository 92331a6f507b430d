#include "optimizer/rules/patterns/graph_queries.h"
#include "optimizer/rules/patterns/pool_view.h"
#include "optimizer/rules/patterns/rewrite_builder.h"
#include "optimizer/rules/rule.h"

namespace plait {
namespace {

Rewrites Match(const Rule&, const Graph& graph, NodeId node) {
  const NodeId relu = SoleProducerOf(graph, node, 0, OpKind::kRelu);
  if (relu == kNoNode || !TakesLargest(graph, node)) return {};
  if (ProducerOf(graph, relu, 0, OpKind::kConv) != kNoNode) return {};
  RewriteBuilder builder(graph);
  const TensorId pooled =
      builder.Add(OpKind::kMaxPool, *graph.node(node).attributes, {graph.node(relu).inputs[0]});
  return builder.Replace(node, builder.Add(OpKind::kRelu, {}, {pooled}));
}

}  // namespace

const Rule kReluAfterMaxPool = {
    .name = "relu_after_max_pool",
    .law = "MaxPool(Relu(x)) = Relu(MaxPool(x))",
    // Relu keeps the order, so the largest element stays the largest. Behind a pool with strides
    // there are fewer elements. A convolution applies Relu to what it writes for nothing, though.
    .root = OpKind::kMaxPool,
    .match = Match,
};

}  // namespace plait
