#include "optimizer/ops/shared/axes.h"
#include "optimizer/rules/patterns/add_slice.h"
#include "optimizer/rules/patterns/graph_queries.h"
#include "optimizer/rules/rule.h"

namespace plait {
namespace {

// What the Slice takes of `axis`, in order and side by side; nullopt when it takes nothing, by
// steps, or of other axes.
std::optional<SliceRange> RangeOf(absl::Span<const SliceRange> ranges, const Shape& shape,
                                  int64_t axis) {
  for (int64_t other = 0; other < static_cast<int64_t>(shape.size()); ++other) {
    const SliceRange& range = ranges[other];
    if (range.step < 0 || (other != axis && range.count != shape[other])) return std::nullopt;
  }
  if (ranges[axis].step != 1 || ranges[axis].count == 0) return std::nullopt;
  return ranges[axis];
}

Rewrites MatchSliceOfConcat(const Rule&, const Graph& graph, NodeId node) {
  const NodeId concat = ProducerOf(graph, node, 0, OpKind::kConcat);
  if (concat == kNoNode) return {};
  const int64_t axis =
      NormalAxis(graph.node(concat).attributes->Int("axis", 0), graph.output_type(concat).rank());
  auto ranges = ReadSlice(graph, node);
  if (!ranges.ok()) return {};
  const auto range = RangeOf(*ranges, graph.output_type(concat).shape, axis);
  if (!range) return {};
  // The inputs that the range touches, and where it starts within the first one.
  std::vector<TensorId> touched;
  int64_t first = 0;
  int64_t size = 0;
  for (const TensorId input : graph.node(concat).inputs) {
    const int64_t past = first + graph.type(input).shape[axis];
    if (past > range->start && first < range->start + range->count) {
      if (touched.empty()) (*ranges)[axis].start = range->start - first;
      touched.push_back(input);
      size += past - first;
    }
    first = past;
  }
  RewriteBuilder builder(graph);
  if (touched.size() == 1) return builder.Replace(node, AddSlice(&builder, touched[0], *ranges));
  if (size != range->count) return {};
  return builder.Replace(node, builder.Add(OpKind::kConcat, {{"axis", axis}}, touched));
}

}  // namespace

const Rule kSliceOfConcat = {
    .name = "slice_of_concat",
    .law = "Slice(Concat(x, y, z)) = Slice(y), y or Concat(y, z), along one axis",
    // What is taken need not be joined first. Part of one input, or some inputs as a whole: a part
    // of several would be copied as often as before.
    .root = OpKind::kSlice,
    .match = MatchSliceOfConcat,
    .always_wins = true,
};

}  // namespace plait
