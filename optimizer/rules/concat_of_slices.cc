#include "optimizer/ops/shared/axes.h"
#include "optimizer/rules/patterns/add_slice.h"
#include "optimizer/rules/patterns/graph_queries.h"
#include "optimizer/rules/rule.h"

namespace plait {
namespace {

// Whether `next` goes on along `axis` where `ranges` end, and takes the same of all other axes.
bool GoesOn(absl::Span<const SliceRange> ranges, absl::Span<const SliceRange> next, int64_t axis) {
  for (size_t i = 0; i < ranges.size(); ++i) {
    const SliceRange& a = ranges[i];
    const SliceRange& b = next[i];
    if (a.step < 1 || b.step < 1) return false;
    const bool is_axis = static_cast<int64_t>(i) == axis;
    if (is_axis && (a.step != 1 || b.step != 1 || b.start != a.start + a.count)) return false;
    if (!is_axis && (a.start != b.start || a.step != b.step || a.count != b.count)) return false;
  }
  return true;
}

Rewrites MatchConcatOfSlices(const Rule&, const Graph& graph, NodeId node) {
  const Node& concat = graph.node(node);
  const int64_t axis =
      NormalAxis(concat.attributes->Int("axis", 0), graph.output_type(node).rank());
  if (concat.inputs.size() < 2) return {};
  TensorId x = kNoTensor;
  std::vector<SliceRange> whole;
  for (size_t i = 0; i < concat.inputs.size(); ++i) {
    const NodeId slice = SoleProducerOf(graph, node, static_cast<int>(i), OpKind::kSlice);
    if (slice == kNoNode || (i > 0 && graph.node(slice).inputs[0] != x)) return {};
    const auto ranges = ReadSlice(graph, slice);
    if (!ranges.ok() || (i > 0 && !GoesOn(whole, *ranges, axis))) return {};
    if (i == 0) {
      x = graph.node(slice).inputs[0];
      whole = *ranges;
    } else {
      whole[axis].count += (*ranges)[axis].count;
    }
  }
  RewriteBuilder builder(graph);
  return builder.Replace(node, AddSlice(&builder, x, whole));
}

}  // namespace

const Rule kConcatOfSlices = {
    .name = "concat_of_slices",
    .law = "Concat(Slice(x, from a to b), Slice(x, from b to c)) = Slice(x, from a to c)",
    // One copy instead of two, and none where all of x is taken. Slices that something else reads
    // stay.
    .root = OpKind::kConcat,
    .match = MatchConcatOfSlices,
    .always_wins = true,
};

}  // namespace plait
