#include "optimizer/rules/patterns/graph_queries.h"
#include "optimizer/rules/patterns/rewrite_builder.h"
#include "optimizer/rules/rule.h"

namespace plait {
namespace {

std::vector<int64_t> PermOf(const Graph& graph, NodeId node) {
  auto perm = graph.node(node).attributes->Ints("perm");
  const int rank = graph.input_type(node, 0).rank();
  if (perm.empty()) {
    for (int axis = rank - 1; axis >= 0; --axis) perm.push_back(axis);
  }
  return perm;
}

std::optional<Rewrite> Match(const Graph& graph, NodeId node) {
  const NodeId inner = ProducerOf(graph, node, 0, OpKind::kTranspose);
  if (inner == kNoNode) return std::nullopt;
  const auto first = PermOf(graph, inner);
  std::vector<int64_t> perm;
  for (int64_t axis : PermOf(graph, node)) perm.push_back(first[axis]);
  RewriteBuilder builder(graph);
  const TensorId merged =
      builder.Add(OpKind::kTranspose, {{"perm", perm}}, {graph.node(inner).inputs[0]});
  builder.Rewire(graph.node(node).outputs[0], merged);
  builder.Remove(node);
  return builder.Finish();
}

}  // namespace

extern const Rule kMergeTransposes = {
    .name = "merge_transposes",
    .law = "Transpose(Transpose(x, p), q) = Transpose(x, p after q)",
    .root = OpKind::kTranspose,
    .match = Match,
    .always_wins = true,
};

}  // namespace plait
