#include "optimizer/rules/rule.h"

namespace plait {
namespace {

std::optional<Rewrite> Match(const Graph& graph, NodeId node) {
  const Node& concat = graph.node(node);
  const NodeId split = graph.tensor(concat.inputs[0]).producer;
  if (split == kNoNode || graph.node(split).op != OpKind::kSplit) return std::nullopt;
  if (concat.inputs != absl::InlinedVector<TensorId, 4>(graph.node(split).outputs.begin(),
                                                        graph.node(split).outputs.end())) {
    return std::nullopt;
  }
  const TensorId source = graph.node(split).inputs[0];
  const int rank = graph.type(source).rank();
  const int64_t split_axis = (graph.node(split).attributes->Int("axis", 0) + rank) % rank;
  const int64_t concat_axis = (concat.attributes->Int("axis", 0) + rank) % rank;
  if (split_axis != concat_axis) return std::nullopt;
  return Rewrite::Replace(graph, node, source);
}

}  // namespace

extern const Rule kCancelSplitConcat = {
    .name = "cancel_split_concat",
    .law = "Concat(Split(x)) = x along one axis",
    .root = OpKind::kConcat,
    .match = Match,
    .always_wins = true,
};

}  // namespace plait
