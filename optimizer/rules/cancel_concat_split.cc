#include "absl/strings/str_cat.h"
#include "optimizer/rules/patterns/graph_queries.h"
#include "optimizer/rules/patterns/reasons.h"
#include "optimizer/rules/patterns/rewrite_builder.h"
#include "optimizer/rules/rule.h"

namespace plait {
namespace {

Rewrites MatchCancelConcatSplit(const Rule& rule, const Graph& graph, NodeId node) {
  const NodeId concat = ProducerOf(graph, node, 0, OpKind::kConcat);
  if (concat == kNoNode) return {};
  const Node& split = graph.node(node);
  const int rank = graph.input_type(node, 0).rank();
  const int64_t axis = (split.attributes->Int("axis", 0) + rank) % rank;
  const auto miss = [&](absl::string_view what) {
    return rule.misses.Because([&] { return absl::StrCat(NodeText(graph, node), what); });
  };
  if ((graph.node(concat).attributes->Int("axis", 0) + rank) % rank != axis) {
    return miss(" is along another axis than the Concat");
  }
  const auto& parts = graph.node(concat).inputs;
  if (parts.size() != split.outputs.size()) return miss(" has more or fewer parts than the Concat");
  return RewriteBuilder(graph).Replace(node, parts);
}

}  // namespace

const Rule kCancelConcatSplit = {
    .name = "cancel_concat_split",
    .law = "Split(Concat(x, y)) = x, y along one axis, with the same sizes",
    // Merged operators leave such pairs between them: two copies of everything for nothing.
    .root = OpKind::kSplit,
    .match = MatchCancelConcatSplit,
    .always_wins = true,
};

}  // namespace plait
