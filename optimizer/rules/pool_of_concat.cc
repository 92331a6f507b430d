#include "optimizer/ops/shared/axes.h"
#include "optimizer/rules/patterns/pool_view.h"
#include "optimizer/rules/patterns/rewrite_builder.h"
#include "optimizer/rules/rule.h"

namespace plait {
namespace {

Rewrites MatchPoolOfConcat(const Rule&, const Graph& graph, NodeId node) {
  const Node& concat = graph.node(node);
  const int64_t rank = graph.output_type(node).rank();
  if (NormalAxis(concat.attributes->Int("axis", 0), rank) > 1) return {};
  if (!graph.has_single_use(concat.outputs[0])) return {};
  const NodeId reader = graph.users(concat.outputs[0])[0];
  if (!IsPool(graph, reader)) return {};
  const Node& pool = graph.node(reader);
  RewriteBuilder builder(graph);
  std::vector<TensorId> inputs;
  for (const TensorId input : concat.inputs) {
    inputs.push_back(builder.Add(pool.op, *pool.attributes, {input}));
  }
  return builder.Replace(reader, builder.Add(OpKind::kConcat, *concat.attributes, inputs));
}

}  // namespace

const Rule kPoolOfConcat = {
    .name = "pool_of_concat",
    .law = "Pool(Concat(x, y)) = Concat(Pool(x), Pool(y)), along the channels or the batch",
    // What a pool with strides leaves out need not be joined first; it is concat_of_pools
    // backwards.
    .root = OpKind::kConcat,
    .match = MatchPoolOfConcat,
};

}  // namespace plait
