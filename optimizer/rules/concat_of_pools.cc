#include "optimizer/ops/shared/axes.h"
#include "optimizer/rules/patterns/graph_queries.h"
#include "optimizer/rules/patterns/pool_view.h"
#include "optimizer/rules/patterns/rewrite_builder.h"
#include "optimizer/rules/rule.h"

namespace plait {
namespace {

Rewrites MatchConcatOfPools(const Rule&, const Graph& graph, NodeId node) {
  const Node& concat = graph.node(node);
  const int64_t rank = graph.output_type(node).rank();
  if (NormalAxis(concat.attributes->Int("axis", 0), rank) > 1) return {};
  const NodeId first = graph.producer(node, 0);
  if (first == kNoNode || !IsPool(graph, first)) return {};
  const Node& pool = graph.node(first);
  std::vector<TensorId> inputs;
  for (size_t i = 0; i < concat.inputs.size(); ++i) {
    const NodeId other = SoleProducerOf(graph, node, static_cast<int>(i), pool.op);
    if (other == kNoNode || !IsPool(graph, other)) return {};
    if (*graph.node(other).attributes != *pool.attributes) return {};
    inputs.push_back(graph.node(other).inputs[0]);
  }
  RewriteBuilder builder(graph);
  const TensorId joined = builder.Add(OpKind::kConcat, *concat.attributes, inputs);
  return builder.Replace(node, builder.Add(pool.op, *pool.attributes, {joined}));
}

}  // namespace

const Rule kConcatOfPools = {
    .name = "concat_of_pools",
    .law = "Concat(Pool(x), Pool(y)) = Pool(Concat(x, y)), along the channels or the batch",
    // One launch in the place of several, but more is joined: before a pool there is as much as its
    // strides leave out. Equal windows over images of one size.
    .root = OpKind::kConcat,
    .match = MatchConcatOfPools,
};

}  // namespace plait
