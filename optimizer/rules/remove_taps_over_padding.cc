#include <algorithm>

#include "optimizer/ops/shared/spatial_window.h"
#include "optimizer/rules/patterns/conv_view.h"
#include "optimizer/rules/rule.h"

// A kernel of 3 with dilation 4 and pads of 4 slides over 3 elements. Its first tap reads at -4, -3
// and -2, its last one at 4, 5 and 6: zeros. Only the one between them ever reads the input:
//
//   first      middle     last
//   p p p p    0 1 2      p p p p        becomes a kernel of 1 without pads
//
// So are the kernels of 3 with dilations of 24 and 36 that segmentation networks slide over maps of
// 16 x 16, and every kernel of 3 over a map of 1 x 1.

namespace plait {
namespace {

// Taps [begin, end) of a kernel: those outside of them never read the input.
struct Taps {
  int64_t begin;
  int64_t end;
};

Taps TapsOverInput(const WindowAxis& axis) {
  Taps taps = {axis.kernel, 0};
  for (int64_t o = 0; o < axis.output; ++o) {
    const int64_t begin = axis.kernel_begin(o);
    const int64_t end = axis.kernel_end(o);
    if (begin >= end) continue;
    taps.begin = std::min(taps.begin, begin);
    taps.end = std::max(taps.end, end);
    if (taps.begin == 0 && taps.end == axis.kernel) break;
  }
  return taps;
}

// Leaves out the other taps along spatial axis 0 or 1, with the padding that only they have read.
// False when that is not possible: no tap is needed, or pads would be less than none.
bool LeaveOut(const WindowAxis& axis, const Taps& taps, size_t index, ConvView& conv) {
  if (taps.begin >= taps.end) return false;
  int64_t& pad_begin = conv.pads[index];
  int64_t& pad_end = conv.pads[index + 2];
  pad_begin -= taps.begin * axis.dilation;
  pad_end -= (axis.kernel - taps.end) * axis.dilation;
  (index == 0 ? conv.kernel_height : conv.kernel_width) = taps.end - taps.begin;
  // Of a single tap it says nothing.
  if (taps.end - taps.begin == 1) conv.dilations[index] = 1;
  return pad_begin >= 0 && pad_end >= 0;
}

Rewrites MatchRemoveTapsOverPadding(const Rule&, const Graph& graph, NodeId node) {
  auto conv = ViewConv(graph, node);
  if (!conv) return {};
  const auto window = ReadWindow(*graph.node(node).attributes, graph.type(conv->x),
                                 {conv->kernel_height, conv->kernel_width}, /*ceil_mode=*/false);
  if (!window.ok()) return {};
  const Taps rows = TapsOverInput((*window)[0]);
  const Taps columns = TapsOverInput((*window)[1]);
  const bool are_all = rows.end - rows.begin == conv->kernel_height &&
                       columns.end - columns.begin == conv->kernel_width;
  if (are_all || !LeaveOut((*window)[0], rows, 0, *conv) ||
      !LeaveOut((*window)[1], columns, 1, *conv)) {
    return {};
  }
  RewriteBuilder builder(graph);
  const auto list = [&](int64_t height, int64_t width) {
    return builder.AddConstant(Tensor::Int64s({height, width}));
  };
  const TensorId taps = builder.Fold(OpKind::kSlice, {conv->w, list(rows.begin, columns.begin),
                                                      list(rows.end, columns.end), list(2, 3)});
  return builder.Replace(
      node, builder.Add(OpKind::kConv, conv->ToAttributes(), {conv->x, taps, conv->b}));
}

}  // namespace

const Rule kRemoveTapsOverPadding = {
    .name = "remove_taps_over_padding",
    .law = "Conv(x, w, pads p) = Conv(x, Slice(w), pads q < p), where other taps read only pads",
    // Height and width only, and kernels of constant weights.
    .root = OpKind::kConv,
    .match = MatchRemoveTapsOverPadding,
    .always_wins = true,
};

}  // namespace plait
