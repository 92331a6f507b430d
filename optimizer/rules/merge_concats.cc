#include "optimizer/ops/shared/axes.h"
#include "optimizer/rules/patterns/graph_queries.h"
#include "optimizer/rules/patterns/rewrite_builder.h"
#include "optimizer/rules/rule.h"

namespace plait {
namespace {

int64_t AxisOf(const Graph& graph, NodeId concat) {
  return NormalAxis(graph.node(concat).attributes->Int("axis", 0),
                    graph.output_type(concat).rank());
}

std::optional<Rewrite> Match(const Graph& graph, NodeId node) {
  std::vector<TensorId> inputs;
  bool found = false;
  for (size_t i = 0; i < graph.node(node).inputs.size(); ++i) {
    const NodeId inner = SoleProducerOf(graph, node, static_cast<int>(i), OpKind::kConcat);
    if (inner == kNoNode || AxisOf(graph, inner) != AxisOf(graph, node)) {
      inputs.push_back(graph.node(node).inputs[i]);
      continue;
    }
    found = true;
    inputs.insert(inputs.end(), graph.node(inner).inputs.begin(), graph.node(inner).inputs.end());
  }
  if (!found) return std::nullopt;
  RewriteBuilder builder(graph);
  const TensorId merged = builder.Add(OpKind::kConcat, {{"axis", AxisOf(graph, node)}}, inputs);
  builder.Rewire(graph.node(node).outputs[0], merged);
  builder.Remove(node);
  return builder.Finish();
}

}  // namespace

extern const Rule kMergeConcats = {
    .name = "merge_concats",
    .law = "Concat(Concat(x, y), z) = Concat(x, y, z) along one axis",
    .root = OpKind::kConcat,
    .match = Match,
    .always_wins = true,
};

}  // namespace plait
