#include "optimizer/rules/patterns/merge_convs_pattern.h"

#include <algorithm>

#include "optimizer/rules/patterns/conv_view.h"
#include "optimizer/rules/patterns/merge_siblings.h"

namespace plait {
namespace {

// A kernel along one axis.
struct Extent {
  int64_t size;
  int64_t pad_begin;
  int64_t pad_end;
};

// One axis of two kernels laid over each other: taps of kernel i cover the input positions
// [-pad_i, -pad_i + size_i) relative to the output's, so the union starts at the larger padding.
// A 1x1 kernel without padding over a 3x3 kernel with pads of 1 has zeros of 1 on every side.
struct Axis {
  int64_t size;       // of the common kernel
  int64_t pad_begin;  // of the merged convolution
  int64_t pad_end;
  int64_t zeros_begin[2];  // to add in front of each kernel
  int64_t zeros_end[2];
};

Axis Overlay(const Extent& a, const Extent& b) {
  Axis axis;
  axis.pad_begin = std::max(a.pad_begin, b.pad_begin);
  const int64_t end = std::max(a.size - a.pad_begin, b.size - b.pad_begin);
  axis.size = axis.pad_begin + end;
  const Extent* extents[2] = {&a, &b};
  for (int i : {0, 1}) {
    axis.zeros_begin[i] = axis.pad_begin - extents[i]->pad_begin;
    axis.zeros_end[i] = axis.size - extents[i]->size - axis.zeros_begin[i];
  }
  axis.pad_end = std::max(a.pad_end + axis.zeros_end[0], b.pad_end + axis.zeros_end[1]);
  return axis;
}

bool SameKernelSize(const ConvView& a, const ConvView& b) {
  return a.kernel_height == b.kernel_height && a.kernel_width == b.kernel_width;
}

struct Sibling {
  NodeId node;
  ConvView conv;
};

bool AreMergeable(const Graph& graph, const Sibling& a, const Sibling& b, MergedKernels kernels) {
  if (!SameSteps(a.conv, b.conv) || a.conv.group != 1) return false;
  if (kernels == MergedKernels::kEqual) {
    return SameKernelSize(a.conv, b.conv) && a.conv.pads == b.conv.pads;
  }
  const Shape& out_a = graph.output_type(a.node).shape;
  const Shape& out_b = graph.output_type(b.node).shape;
  // Dense kernels only: Overlay counts a tap as one position.
  return !SameKernelSize(a.conv, b.conv) && a.conv.dilations == std::vector<int64_t>{1, 1} &&
         out_a[2] == out_b[2] && out_a[3] == out_b[3];
}

// The filters of both, one behind the other; sets the kernel and the pads of `merged`.
TensorId MergeFilters(RewriteBuilder* builder, const ConvView& conv, const ConvView& other,
                      ConvView* merged) {
  const Axis height = Overlay({conv.kernel_height, conv.pads[0], conv.pads[2]},
                              {other.kernel_height, other.pads[0], other.pads[2]});
  const Axis width = Overlay({conv.kernel_width, conv.pads[1], conv.pads[3]},
                             {other.kernel_width, other.pads[1], other.pads[3]});
  merged->kernel_height = height.size;
  merged->kernel_width = width.size;
  merged->pads = {height.pad_begin, width.pad_begin, height.pad_end, width.pad_end};
  TensorId filters[2] = {conv.w, other.w};
  if (!SameKernelSize(conv, other)) {
    for (int i : {0, 1}) {
      const std::vector<int64_t> zeros = {0, 0, height.zeros_begin[i], width.zeros_begin[i],
                                          0, 0, height.zeros_end[i],   width.zeros_end[i]};
      filters[i] =
          builder->Fold(OpKind::kPad, {filters[i], builder->AddConstant(Tensor::Int64s(zeros))});
    }
  }
  return builder->Fold(OpKind::kConcat, {filters[0], filters[1]}, {{"axis", int64_t{0}}});
}

Rewrites Merge(const Graph& graph, const Sibling& a, const Sibling& b) {
  RewriteBuilder builder(graph);
  ConvView merged = a.conv;
  merged.w = MergeFilters(&builder, a.conv, b.conv, &merged);
  if (a.conv.b != kNoTensor || b.conv.b != kNoTensor) {
    merged.b = builder.Fold(OpKind::kConcat,
                            {BiasOrZeros(&builder, a.conv), BiasOrZeros(&builder, b.conv)},
                            {{"axis", int64_t{0}}});
  }
  const TensorId result =
      builder.Add(OpKind::kConv, merged.ToAttributes(), {merged.x, merged.w, merged.b});
  return ReplaceBySplit(graph, &builder, result, 1, graph.node(a.node).outputs[0],
                        graph.node(b.node).outputs[0]);
}

}  // namespace

Rewrites MergeConvs(const Graph& graph, NodeId node, MergedKernels kernels) {
  const auto conv = ViewConv(graph, node);
  if (!conv) return {};
  const Sibling first{node, *conv};
  for (NodeId user : graph.users(conv->x)) {
    if (user <= node) continue;
    const auto other = ViewConv(graph, user);
    if (!other) continue;
    const Sibling second{user, *other};
    if (!AreMergeable(graph, first, second, kernels)) continue;
    Rewrites rewrites = Merge(graph, first, second);
    if (!rewrites.empty()) return rewrites;
  }
  return {};
}

}  // namespace plait
