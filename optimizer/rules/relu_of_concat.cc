#include "optimizer/rules/patterns/graph_queries.h"
#include "optimizer/rules/patterns/rewrite_builder.h"
#include "optimizer/rules/rule.h"

namespace plait {
namespace {

Rewrites MatchReluOfConcat(const Rule& rule, const Graph& graph, NodeId node) {
  const NodeId concat = SoleProducerOf(graph, node, 0, OpKind::kConcat, rule.misses);
  if (concat == kNoNode) return {};
  RewriteBuilder builder(graph);
  std::vector<TensorId> inputs;
  for (const TensorId input : graph.node(concat).inputs) {
    inputs.push_back(builder.Add(OpKind::kRelu, {}, {input}));
  }
  const Attributes& attributes = *graph.node(concat).attributes;
  return builder.Replace(node, builder.Add(OpKind::kConcat, attributes, inputs));
}

}  // namespace

const Rule kReluOfConcat = {
    .name = "relu_of_concat",
    .law = "Relu(Concat(x, y)) = Concat(Relu(x), Relu(y))",
    // Whoever computes x and y applies the Relu before it writes them, and the Concat moves nothing
    // where they are its parts; it is concat_of_relus backwards, and the search decides.
    .root = OpKind::kRelu,
    .match = MatchReluOfConcat,
};

}  // namespace plait
