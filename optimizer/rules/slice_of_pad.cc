#include <algorithm>

#include "optimizer/rules/patterns/add_slice.h"
#include "optimizer/rules/patterns/graph_queries.h"
#include "optimizer/rules/rule.h"

namespace plait {
namespace {

// What a slice takes of one axis of Pad(x): first of the padding, then of x, then of the padding.
// x of 5 padded by 1 and 3, from 0 in steps of 2, five times (p0 1 3 p p): before 1, of x {1, 2,
// 2}, behind 2.
struct Parts {
  int64_t before;
  SliceRange of_x;
  int64_t behind;
};

// How many steps from `start` end before `end`.
int64_t StepsBefore(int64_t end, const SliceRange& range) {
  const int64_t steps = (end - range.start + range.step - 1) / range.step;
  return end <= range.start ? 0 : std::min(steps, range.count);
}

Parts PartsOf(const SliceRange& range, int64_t pad_begin, int64_t size) {
  const int64_t before = StepsBefore(pad_begin, range);
  const int64_t past = StepsBefore(pad_begin + size, range);
  const int64_t start = range.start + before * range.step - pad_begin;
  return {before, {start, range.step, past - before}, range.count - past};
}

Rewrites MatchSliceOfPad(const Rule&, const Graph& graph, NodeId node) {
  const NodeId pad = ProducerOf(graph, node, 0, OpKind::kPad);
  if (pad == kNoNode || InputOr(graph, pad, 3) != kNoTensor) return {};  // a list of axes
  if (graph.node(pad).attributes->String("mode", "constant") != "constant") return {};
  const auto pads = IntsAt(graph, pad, 1);
  const auto ranges = ReadSlice(graph, node);
  if (!pads || !ranges.ok() || pads->size() != 2 * ranges->size()) return {};
  std::vector<SliceRange> of_x;
  std::vector<int64_t> before;
  std::vector<int64_t> behind;
  for (const SliceRange& range : *ranges) {
    if (range.step < 0) return {};
    const size_t axis = of_x.size();
    const Parts parts = PartsOf(range, (*pads)[axis], graph.input_type(pad, 0).shape[axis]);
    if (parts.of_x.count <= 0) return {};
    of_x.push_back(parts.of_x);
    before.push_back(parts.before);
    behind.push_back(parts.behind);
  }
  std::vector<int64_t> left = before;
  left.insert(left.end(), behind.begin(), behind.end());
  const bool is_padded =
      std::any_of(left.begin(), left.end(), [](int64_t size) { return size > 0; });
  if (is_padded && !graph.has_single_use(graph.node(pad).outputs[0])) return {};
  RewriteBuilder builder(graph);
  TensorId y = AddSlice(&builder, graph.node(pad).inputs[0], of_x);
  if (is_padded) {
    y = builder.Add(OpKind::kPad, *graph.node(pad).attributes,
                    {y, builder.AddConstant(Tensor::Int64s(left)), InputOr(graph, pad, 2)});
  }
  return builder.Replace(node, y);
}

}  // namespace

const Rule kSliceOfPad = {
    .name = "slice_of_pad",
    .law = "Slice(Pad(x, p)) = Slice(x) or Pad(Slice(x), q)",
    // Only what is taken is padded, and nothing when it lies within x. Fewer elements move, unless
    // the Pad stays for others.
    .root = OpKind::kSlice,
    .match = MatchSliceOfPad,
    .always_wins = true,
};

}  // namespace plait
