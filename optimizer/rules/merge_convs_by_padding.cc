#include <algorithm>

#include "optimizer/rules/patterns/conv_view.h"
#include "optimizer/rules/patterns/merge_siblings.h"
#include "optimizer/rules/rule.h"

namespace plait {
namespace {

// One axis of two kernels laid over each other: taps of kernel i cover the input positions
// [-pad_i, -pad_i + size_i) relative to the output's, so the union starts at the larger padding.
struct Axis {
  int64_t size;       // of the common kernel
  int64_t pad_begin;  // of the merged convolution
  int64_t pad_end;
  int64_t zeros_begin[2];  // to add in front of each kernel
  int64_t zeros_end[2];
};

struct Extent {
  int64_t size;
  int64_t pad_begin;
  int64_t pad_end;
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

ConstantRef PadKernel(RewriteBuilder* builder, const ConvView& conv, const Axis& height,
                      const Axis& width, int i) {
  const std::vector<int64_t> pads = {0, 0, height.zeros_begin[i], width.zeros_begin[i],
                                     0, 0, height.zeros_end[i],   width.zeros_end[i]};
  return builder->Fold(OpKind::kPad, {},
                       {builder->ConstantOf(conv.w), Constant::OfTensor(Tensor::Int64s(pads))});
}

std::optional<Rewrite> Merge(const Graph& graph, NodeId node, NodeId sibling, const ConvView& conv,
                             const ConvView& other) {
  const Axis height = Overlay({conv.kernel_height, conv.pads[0], conv.pads[2]},
                              {other.kernel_height, other.pads[0], other.pads[2]});
  const Axis width = Overlay({conv.kernel_width, conv.pads[1], conv.pads[3]},
                             {other.kernel_width, other.pads[1], other.pads[3]});
  RewriteBuilder builder(graph);
  const Attributes along_filters{{"axis", int64_t{0}}};
  const TensorId w = builder.AddConstant(builder.Fold(
      OpKind::kConcat, along_filters,
      {PadKernel(&builder, conv, height, width, 0), PadKernel(&builder, other, height, width, 1)}));
  std::vector<TensorId> inputs = {conv.x, w};
  if (conv.b != kNoTensor || other.b != kNoTensor) {
    inputs.push_back(builder.AddConstant(
        builder.Fold(OpKind::kConcat, along_filters,
                     {BiasOrZeros(&builder, conv), BiasOrZeros(&builder, other)})));
  }
  ConvView merged = conv;
  merged.kernel_height = height.size;
  merged.kernel_width = width.size;
  merged.pads = {height.pad_begin, width.pad_begin, height.pad_end, width.pad_end};
  const TensorId result = builder.Add(OpKind::kConv, merged.ToAttributes(), inputs);
  builder.Remove(node);
  builder.Remove(sibling);
  ReplaceBySplit(graph, &builder, result, 1, graph.node(node).outputs[0],
                 graph.node(sibling).outputs[0]);
  return builder.Finish();
}

std::optional<Rewrite> Match(const Graph& graph, NodeId node) {
  const auto conv = ViewConv(graph, node);
  if (!conv) return std::nullopt;
  const std::vector<int64_t> dense = {1, 1};
  for (NodeId sibling : graph.users(conv->x)) {
    if (sibling <= node) continue;
    const auto other = ViewConv(graph, sibling);
    if (!other || !SameSteps(*conv, *other) || conv->group != 1 || conv->dilations != dense)
      continue;
    const bool same_kernel =
        conv->kernel_height == other->kernel_height && conv->kernel_width == other->kernel_width;
    const Shape& a = graph.output_type(node).shape;
    const Shape& b = graph.output_type(sibling).shape;
    if (same_kernel || a[2] != b[2] || a[3] != b[3]) continue;
    if (auto rewrite = Merge(graph, node, sibling, *conv, *other)) return rewrite;
  }
  return std::nullopt;
}

}  // namespace

extern const Rule kMergeConvsByPadding = {
    .name = "merge_convs_by_padding",
    .law =
        "Conv(x, w), Conv(x, v) = Split(Conv(x, Concat(Pad(w), Pad(v)))), kernels of other sizes",
    .root = OpKind::kConv,
    .match = Match,
};

}  // namespace plait
