#include <algorithm>

#include "optimizer/ops/shared/axes.h"
#include "optimizer/rules/patterns/graph_queries.h"
#include "optimizer/rules/patterns/rewrite_builder.h"
#include "optimizer/rules/rule.h"

namespace plait {
namespace {

// Elements [start, end) of one axis, in their order.
struct Range {
  int64_t start;
  int64_t end;
};

// What the Slice takes of its one axis, `axis`; nullopt when it takes of others or in other steps.
std::optional<Range> RangeOf(const Graph& graph, NodeId slice, int64_t axis) {
  const auto starts = IntsAt(graph, slice, 1);
  const auto ends = IntsAt(graph, slice, 2);
  if (!starts || !ends || starts->size() != 1) return std::nullopt;
  const Shape& shape = graph.input_type(slice, 0).shape;
  int64_t sliced = 0;
  if (InputOr(graph, slice, 3) != kNoTensor) {
    const auto axes = IntsAt(graph, slice, 3);
    if (!axes) return std::nullopt;
    sliced = NormalAxis((*axes)[0], static_cast<int64_t>(shape.size()));
  }
  if (sliced != axis) return std::nullopt;
  if (InputOr(graph, slice, 4) != kNoTensor) {
    const auto steps = IntsAt(graph, slice, 4);
    if (!steps || (*steps)[0] != 1) return std::nullopt;
  }
  // Bounds count from the end when they are negative, and are clamped.
  const auto bound = [&](int64_t value) {
    return std::clamp<int64_t>(value < 0 ? value + shape[axis] : value, 0, shape[axis]);
  };
  return Range{bound((*starts)[0]), bound((*ends)[0])};
}

Rewrites Match(const Rule&, const Graph& graph, NodeId node) {
  const NodeId concat = ProducerOf(graph, node, 0, OpKind::kConcat);
  if (concat == kNoNode) return {};
  const int64_t axis =
      NormalAxis(graph.node(concat).attributes->Int("axis", 0), graph.output_type(concat).rank());
  const auto range = RangeOf(graph, node, axis);
  if (!range || range->start >= range->end) return {};
  // The inputs that the range touches, and where it starts within the first one.
  std::vector<TensorId> touched;
  Range within = *range;
  int64_t first = 0;
  int64_t size = 0;
  for (const TensorId input : graph.node(concat).inputs) {
    const int64_t past = first + graph.type(input).shape[axis];
    if (past > range->start && first < range->end) {
      if (touched.empty()) within = {range->start - first, range->end - first};
      touched.push_back(input);
      size += past - first;
    }
    first = past;
  }
  const bool takes_whole_inputs = within.start == 0 && within.end == size;
  if (touched.size() > 1 && !takes_whole_inputs) return {};
  RewriteBuilder builder(graph);
  TensorId result = touched[0];
  if (touched.size() > 1) {
    result = builder.Add(OpKind::kConcat, {{"axis", axis}}, touched);
  } else if (!takes_whole_inputs) {
    result = builder.Add(OpKind::kSlice, {},
                         {result, builder.AddConstant(Tensor::Int64s({within.start})),
                          builder.AddConstant(Tensor::Int64s({within.end})),
                          builder.AddConstant(Tensor::Int64s({axis}))});
  }
  return builder.Replace(node, result);
}

}  // namespace

const Rule kSliceOfConcat = {
    .name = "slice_of_concat",
    .law = "Slice(Concat(x, y, z)) = Slice(y), y or Concat(y, z), along one axis",
    // What is taken need not be joined first. Part of one input, or some inputs as a whole: a part
    // of several would be copied as often as before.
    .root = OpKind::kSlice,
    .match = Match,
    .always_wins = true,
};

}  // namespace plait
