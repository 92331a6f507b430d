#include "optimizer/rules/patterns/graph_queries.h"
#include "optimizer/rules/patterns/rewrite_builder.h"
#include "optimizer/rules/rule.h"

namespace plait {
namespace {

std::optional<Rewrite> Match(const Graph& graph, NodeId node) {
  const NodeId concat = ProducerOf(graph, node, 0, OpKind::kConcat);
  if (concat == kNoNode) return std::nullopt;
  const Node& split = graph.node(node);
  const int rank = graph.input_type(node, 0).rank();
  const int64_t axis = (split.attributes->Int("axis", 0) + rank) % rank;
  if ((graph.node(concat).attributes->Int("axis", 0) + rank) % rank != axis) return std::nullopt;
  const auto& parts = graph.node(concat).inputs;
  if (parts.size() != split.outputs.size()) return std::nullopt;
  RewriteBuilder builder(graph);
  for (size_t i = 0; i < parts.size(); ++i) {
    if (split.outputs[i] == kNoTensor) continue;
    if (!(graph.type(parts[i]) == graph.type(split.outputs[i]))) return std::nullopt;
    builder.Rewire(split.outputs[i], parts[i]);
  }
  builder.Remove(node);
  return builder.Finish();
}

}  // namespace

extern const Rule kCancelConcatSplit = {
    .name = "cancel_concat_split",
    .law = "Split(Concat(x, y)) = x, y along one axis, with the same sizes",
    .root = OpKind::kSplit,
    .match = Match,
    .always_wins = true,
};

}  // namespace plait
