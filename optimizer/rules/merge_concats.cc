#include "absl/strings/str_cat.h"
#include "optimizer/ops/shared/axes.h"
#include "optimizer/rules/patterns/graph_queries.h"
#include "optimizer/rules/patterns/reasons.h"
#include "optimizer/rules/patterns/rewrite_builder.h"
#include "optimizer/rules/rule.h"

namespace plait {
namespace {

int64_t ConcatAxis(const Graph& graph, NodeId concat) {
  return NormalAxis(graph.node(concat).attributes->Int("axis", 0),
                    graph.output_type(concat).rank());
}

Rewrites MatchMergeConcats(const Rule& rule, const Graph& graph, NodeId node) {
  std::vector<TensorId> inputs;
  bool found = false;
  for (size_t i = 0; i < graph.node(node).inputs.size(); ++i) {
    const NodeId inner =
        SoleProducerOf(graph, node, static_cast<int>(i), OpKind::kConcat, rule.misses);
    if (inner == kNoNode || ConcatAxis(graph, inner) != ConcatAxis(graph, node)) {
      if (inner != kNoNode) {
        rule.misses.Because(
            [&] { return absl::StrCat(NodeText(graph, inner), " is along another axis"); });
      }
      inputs.push_back(graph.node(node).inputs[i]);
      continue;
    }
    found = true;
    inputs.insert(inputs.end(), graph.node(inner).inputs.begin(), graph.node(inner).inputs.end());
  }
  if (!found) return {};
  RewriteBuilder builder(graph);
  const Attributes attributes{{"axis", ConcatAxis(graph, node)}};
  return builder.Replace(node, builder.Add(OpKind::kConcat, attributes, inputs));
}

}  // namespace

const Rule kMergeConcats = {
    .name = "merge_concats",
    .law = "Concat(Concat(x, y), z) = Concat(x, y, z) along one axis",
    // Every element is copied once instead of twice. An inner Concat that something else reads
    // stays, for its copy would be made in any case.
    .root = OpKind::kConcat,
    .match = MatchMergeConcats,
    .always_wins = true,
};

}  // namespace plait
