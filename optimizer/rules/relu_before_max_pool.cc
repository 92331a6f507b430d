#include "optimizer/rules/patterns/graph_queries.h"
#include "optimizer/rules/patterns/pool_view.h"
#include "optimizer/rules/patterns/rewrite_builder.h"
#include "optimizer/rules/rule.h"

namespace plait {
namespace {

Rewrites MatchReluBeforeMaxPool(const Rule&, const Graph& graph, NodeId node) {
  const NodeId pool = SoleProducerOf(graph, node, 0, OpKind::kMaxPool);
  if (pool == kNoNode || !TakesLargest(graph, pool)) return {};
  if (SoleProducerOf(graph, pool, 0, OpKind::kConv) == kNoNode) return {};
  RewriteBuilder builder(graph);
  const TensorId positive = builder.Add(OpKind::kRelu, {}, {graph.node(pool).inputs[0]});
  return builder.Replace(node,
                         builder.Add(OpKind::kMaxPool, *graph.node(pool).attributes, {positive}));
}

}  // namespace

const Rule kReluBeforeMaxPool = {
    .name = "relu_before_max_pool",
    .law = "Relu(MaxPool(x)) = MaxPool(Relu(x)), x computed by a convolution",
    // A convolution applies the Relu to what it writes, which costs nothing. For others there would
    // be more elements: relu_after_max_pool.
    .root = OpKind::kRelu,
    .match = MatchReluBeforeMaxPool,
};

}  // namespace plait
