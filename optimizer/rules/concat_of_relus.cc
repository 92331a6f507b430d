#include "optimizer/rules/patterns/graph_queries.h"
#include "optimizer/rules/patterns/rewrite_builder.h"
#include "optimizer/rules/rule.h"

namespace plait {
namespace {

Rewrites Match(const Rule&, const Graph& graph, NodeId node) {
  const Node& concat = graph.node(node);
  std::vector<TensorId> inputs;
  for (size_t i = 0; i < concat.inputs.size(); ++i) {
    const NodeId relu = SoleProducerOf(graph, node, static_cast<int>(i), OpKind::kRelu);
    if (relu == kNoNode) return {};
    inputs.push_back(graph.node(relu).inputs[0]);
  }
  RewriteBuilder builder(graph);
  const TensorId joined = builder.Add(OpKind::kConcat, *concat.attributes, inputs);
  return builder.Replace(node, builder.Add(OpKind::kRelu, {}, {joined}));
}

}  // namespace

const Rule kConcatOfRelus = {
    .name = "concat_of_relus",
    .law = "Concat(Relu(x), Relu(y)) = Relu(Concat(x, y))",
    // One launch in the place of several; or several Relus that their producers take along for
    // nothing against one that does not. The search decides.
    .root = OpKind::kConcat,
    .match = Match,
};

}  // namespace plait
