#include "optimizer/rules/patterns/add_slice.h"
#include "optimizer/rules/patterns/graph_queries.h"
#include "optimizer/rules/rule.h"

namespace plait {
namespace {

Rewrites MatchMergeSlices(const Rule&, const Graph& graph, NodeId node) {
  const NodeId first = ProducerOf(graph, node, 0, OpKind::kSlice);
  if (first == kNoNode) return {};
  const auto is_slice = [&](NodeId reader) { return graph.node(reader).op == OpKind::kSlice; };
  if (!IsReadOnlyBy(graph, graph.node(first).outputs[0], is_slice)) return {};
  const auto inner = ReadSlice(graph, first);
  const auto outer = ReadSlice(graph, node);
  if (!inner.ok() || !outer.ok()) return {};
  std::vector<SliceRange> both;
  for (size_t axis = 0; axis < outer->size(); ++axis) {
    const SliceRange& of = (*inner)[axis];
    const SliceRange& taken = (*outer)[axis];
    if (of.step < 0 || taken.step < 0) return {};
    both.push_back({of.start + taken.start * of.step, of.step * taken.step, taken.count});
  }
  RewriteBuilder builder(graph);
  return builder.Replace(node, AddSlice(&builder, graph.node(first).inputs[0], both));
}

}  // namespace

const Rule kMergeSlices = {
    .name = "merge_slices",
    .law = "Slice(Slice(x, start a, step s), start b, step t) = Slice(x, start a + b s, step s t)",
    // One copy instead of two, unless something else reads the first. Forward only.
    .root = OpKind::kSlice,
    .match = MatchMergeSlices,
    .always_wins = true,
};

}  // namespace plait
