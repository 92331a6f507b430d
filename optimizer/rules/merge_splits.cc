#include "absl/strings/str_cat.h"
#include "optimizer/ops/shared/axes.h"
#include "optimizer/rules/patterns/graph_queries.h"
#include "optimizer/rules/patterns/reasons.h"
#include "optimizer/rules/patterns/rewrite_builder.h"
#include "optimizer/rules/rule.h"

namespace plait {
namespace {

int64_t SplitAxis(const Graph& graph, NodeId split) {
  return NormalAxis(graph.node(split).attributes->Int("axis", 0),
                    graph.input_type(split, 0).rank());
}

// Whether the outputs are the whole input: none is left out that nothing reads.
bool HasAllParts(const Graph& graph, NodeId split) {
  int64_t size = 0;
  for (const TensorId output : graph.node(split).outputs) {
    if (output == kNoTensor) return false;
    size += graph.type(output).shape[SplitAxis(graph, split)];
  }
  return size == graph.input_type(split, 0).shape[SplitAxis(graph, split)];
}

Rewrites MatchMergeSplits(const Rule& rule, const Graph& graph, NodeId node) {
  const NodeId inner = SoleProducerOf(graph, node, 0, OpKind::kSplit, rule.misses);
  if (inner == kNoNode) return {};
  const auto miss = [&](absl::string_view what) {
    return rule.misses.Because([&] { return absl::StrCat(NodeText(graph, inner), what); });
  };
  if (SplitAxis(graph, inner) != SplitAxis(graph, node)) return miss(" is along another axis");
  if (!HasAllParts(graph, inner) || !HasAllParts(graph, node)) {
    return miss(" or its reader has parts that nothing reads");
  }
  const auto& inner_parts = graph.node(inner).outputs;
  const auto& outer_parts = graph.node(node).outputs;
  std::vector<TensorId> replaced;
  std::vector<int64_t> sizes;
  for (const TensorId part : inner_parts) {
    if (part == graph.node(node).inputs[0]) {
      replaced.insert(replaced.end(), outer_parts.begin(), outer_parts.end());
    } else {
      replaced.push_back(part);
    }
  }
  const int64_t axis = SplitAxis(graph, node);
  for (const TensorId part : replaced) sizes.push_back(graph.type(part).shape[axis]);
  RewriteBuilder builder(graph);
  const std::vector<TensorId> inputs = {graph.node(inner).inputs[0],
                                        builder.AddConstant(Tensor::Int64s(sizes))};
  const std::vector<TensorId> parts =
      builder.AddMany(OpKind::kSplit, {{"axis", axis}}, inputs, static_cast<int>(replaced.size()));
  for (size_t i = 0; i < replaced.size(); ++i) builder.Rewire(replaced[i], parts[i]);
  return builder.Finish();
}

}  // namespace

const Rule kMergeSplits = {
    .name = "merge_splits",
    .law = "Split(Split(x)) = Split(x) along one axis",
    // Every element is copied once instead of twice. Merging what was merged before leaves such
    // pairs. A part that something else reads as a whole stays, and so does its Split.
    .root = OpKind::kSplit,
    .match = MatchMergeSplits,
    .always_wins = true,
};

}  // namespace plait
