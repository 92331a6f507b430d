#include "optimizer/rules/patterns/graph_queries.h"
#include "optimizer/rules/patterns/rewrite_builder.h"
#include "optimizer/rules/rule.h"

namespace plait {
namespace {

std::optional<Rewrite> Match(const Graph& graph, NodeId node) {
  const Node& concat = graph.node(node);
  RewriteBuilder builder(graph);
  std::vector<TensorId> inputs;
  for (size_t i = 0; i < concat.inputs.size(); ++i) {
    const NodeId relu = SoleProducerOf(graph, node, static_cast<int>(i), OpKind::kRelu);
    if (relu == kNoNode) return std::nullopt;
    inputs.push_back(graph.node(relu).inputs[0]);
    builder.Remove(relu);
  }
  const TensorId joined = builder.Add(OpKind::kConcat, *concat.attributes, inputs);
  builder.Rewire(concat.outputs[0], builder.Add(OpKind::kRelu, {}, {joined}));
  builder.Remove(node);
  return builder.Finish();
}

}  // namespace

extern const Rule kConcatOfRelus = {
    .name = "concat_of_relus",
    .law = "Concat(Relu(x), Relu(y)) = Relu(Concat(x, y))",
    .root = OpKind::kConcat,
    .match = Match,
};

}  // namespace plait
