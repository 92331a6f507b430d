#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "optimizer/rules/patterns/graph_queries.h"
#include "optimizer/rules/patterns/reasons.h"
#include "optimizer/rules/patterns/rewrite_builder.h"
#include "optimizer/rules/rule.h"

namespace plait {
namespace {

Rewrites MatchCancelSplitConcat(const Rule& rule, const Graph& graph, NodeId node) {
  const Node& concat = graph.node(node);
  const NodeId split = ProducerOf(graph, node, 0, OpKind::kSplit);
  if (split == kNoNode) return {};
  const auto miss = [&](absl::string_view what) {
    return rule.misses.Because([&] { return absl::StrCat(NodeText(graph, node), what); });
  };
  if (!absl::c_equal(concat.inputs, graph.node(split).outputs)) {
    return miss(" does not read all parts of the Split in their order");
  }
  const TensorId source = graph.node(split).inputs[0];
  const int rank = graph.type(source).rank();
  const int64_t split_axis = (graph.node(split).attributes->Int("axis", 0) + rank) % rank;
  const int64_t concat_axis = (concat.attributes->Int("axis", 0) + rank) % rank;
  if (split_axis != concat_axis) return miss(" is along another axis than the Split");
  return RewriteBuilder(graph).Replace(node, source);
}

}  // namespace

const Rule kCancelSplitConcat = {
    .name = "cancel_split_concat",
    .law = "Concat(Split(x)) = x along one axis",
    // All parts, in their order: then two copies of everything are saved.
    .root = OpKind::kConcat,
    .match = MatchCancelSplitConcat,
    .always_wins = true,
};

}  // namespace plait
