#include "optimizer/rules/patterns/add_slice.h"
#include "optimizer/rules/patterns/conv_view.h"
#include "optimizer/rules/rule.h"

namespace plait {
namespace {

// The steps along height and width of a Slice that takes every such row and column of images, from
// the first to the last; nullopt for other slices.
std::optional<std::vector<int64_t>> StepsOf(const Graph& graph, NodeId slice) {
  const auto ranges = ReadSlice(graph, slice);
  const Shape& shape = graph.input_type(slice, 0).shape;
  if (!ranges.ok() || shape.size() != 4) return std::nullopt;
  for (size_t axis = 0; axis < shape.size(); ++axis) {
    const auto& [start, step, count] = (*ranges)[axis];
    if (axis < 2 && count != shape[axis]) return std::nullopt;
    if (start != 0 || step < 0 || count != (shape[axis] + step - 1) / step) return std::nullopt;
  }
  return std::vector<int64_t>{(*ranges)[2].step, (*ranges)[3].step};
}

// One tap and no padding: what it reads is what its strides say.
bool ReadsByStrides(const ConvView& conv) {
  return conv.kernel_height == 1 && conv.kernel_width == 1 &&
         conv.pads == std::vector<int64_t>{0, 0, 0, 0};
}

Rewrites MatchSliceIntoConv(const Rule&, const Graph& graph, NodeId node) {
  const NodeId slice = ProducerOf(graph, node, 0, OpKind::kSlice);
  if (slice == kNoNode) return {};
  const auto takes_steps = [&](NodeId reader) {
    const auto conv = ViewConv(graph, reader);
    return conv && ReadsByStrides(*conv);
  };
  if (!IsReadOnlyBy(graph, graph.node(slice).outputs[0], takes_steps)) return {};
  const auto steps = StepsOf(graph, slice);
  if (!steps) return {};
  ConvView conv = *ViewConv(graph, node);
  for (size_t i = 0; i < steps->size(); ++i) conv.strides[i] *= (*steps)[i];
  RewriteBuilder builder(graph);
  return builder.Replace(node, builder.Add(OpKind::kConv, conv.ToAttributes(),
                                           {graph.node(slice).inputs[0], conv.w, conv.b}));
}

}  // namespace

const Rule kSliceIntoConv = {
    .name = "slice_into_conv",
    .law = "Conv1x1(Slice(x, steps s), strides t) = Conv1x1(x, strides s t)",
    // The convolution reads what the slice would have copied, which must be all for convolutions.
    .root = OpKind::kConv,
    .match = MatchSliceIntoConv,
    .always_wins = true,
};

}  // namespace plait
