#include "optimizer/rules/patterns/merge_convs_pattern.h"

#include <algorithm>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "optimizer/rules/patterns/conv_view.h"
#include "optimizer/rules/patterns/merge_siblings.h"
#include "optimizer/rules/patterns/reasons.h"

namespace plait {
namespace {

// A kernel along one axis.
struct Extent {
  int64_t size;
  int64_t pad_begin;
  int64_t pad_end;
};

// One axis of kernels laid over each other: taps of kernel i cover the input positions
// [-pad_i, -pad_i + size_i) relative to the output's, so the union starts at the largest padding.
// A 1x1 kernel without padding over a 3x3 kernel with pads of 1 has zeros of 1 on every side.
struct Axis {
  int64_t size;       // of the common kernel
  int64_t pad_begin;  // of the merged convolution
  int64_t pad_end;
  std::vector<int64_t> zeros_begin;  // to add in front of each kernel
  std::vector<int64_t> zeros_end;
};

Axis Overlay(absl::Span<const Extent> extents) {
  Axis axis{};
  int64_t end = 0;
  for (const Extent& extent : extents) {
    axis.pad_begin = std::max(axis.pad_begin, extent.pad_begin);
    end = std::max(end, extent.size - extent.pad_begin);
  }
  axis.size = axis.pad_begin + end;
  for (const Extent& extent : extents) {
    axis.zeros_begin.push_back(axis.pad_begin - extent.pad_begin);
    axis.zeros_end.push_back(axis.size - extent.size - axis.zeros_begin.back());
    axis.pad_end = std::max(axis.pad_end, extent.pad_end + axis.zeros_end.back());
  }
  return axis;
}

bool SameKernelSize(const ConvView& a, const ConvView& b) {
  return a.kernel_height == b.kernel_height && a.kernel_width == b.kernel_width;
}

struct Sibling {
  NodeId node;
  ConvView conv;
};

std::string KernelText(const ConvView& conv) {
  return SizesText({conv.kernel_height, conv.kernel_width});
}

// What a and b, which may not be parts of one merged convolution, differ in. Kernels and pads may
// differ where they are padded.
std::string DifferenceText(const Graph& graph, const Sibling& a, const Sibling& b,
                           MergedKernels kernels) {
  const auto differ = [&](absl::string_view what, absl::string_view of_a, absl::string_view of_b) {
    return DiffersText(graph, a.node, b.node, what, of_a, of_b);
  };
  const auto differ_in_sizes = [&](absl::string_view what, absl::Span<const int64_t> of_a,
                                   absl::Span<const int64_t> of_b) {
    return differ(what, SizesText(of_a), SizesText(of_b));
  };
  if (a.conv.x != b.conv.x) return absl::StrCat(NodeText(graph, b.node), " reads another input");
  if (a.conv.strides != b.conv.strides) {
    return differ_in_sizes("the strides", a.conv.strides, b.conv.strides);
  }
  if (a.conv.dilations != b.conv.dilations) {
    return differ_in_sizes("the dilations", a.conv.dilations, b.conv.dilations);
  }
  for (const Sibling& sibling : {a, b}) {
    if (sibling.conv.group == 1) continue;
    return absl::StrCat(NodeText(graph, sibling.node), " has ", sibling.conv.group, " groups");
  }
  if (kernels == MergedKernels::kPadded) {
    if (a.conv.dilations != std::vector<int64_t>{1, 1}) {
      return absl::StrCat(NodeText(graph, a.node), " is dilated");
    }
    const auto image = [&](const Sibling& sibling) {
      const Shape& shape = graph.output_type(sibling.node).shape;
      return SizesText({shape[2], shape[3]});
    };
    return differ("images of", image(a), image(b));
  }
  if (!SameKernelSize(a.conv, b.conv)) {
    return differ("a kernel of", KernelText(a.conv), KernelText(b.conv));
  }
  return differ_in_sizes("the pads", a.conv.pads, b.conv.pads);
}

// Whether both may be part of one merged convolution.
bool AreMergeable(const Graph& graph, const Sibling& a, const Sibling& b, MergedKernels kernels) {
  if (!SameSteps(a.conv, b.conv) || a.conv.group != 1) return false;
  if (kernels == MergedKernels::kEqual) {
    return SameKernelSize(a.conv, b.conv) && a.conv.pads == b.conv.pads;
  }
  const Shape& out_a = graph.output_type(a.node).shape;
  const Shape& out_b = graph.output_type(b.node).shape;
  // Dense kernels only: Overlay counts a tap as one position.
  return a.conv.dilations == std::vector<int64_t>{1, 1} && out_a[2] == out_b[2] &&
         out_a[3] == out_b[3];
}

bool HaveEqualKernels(absl::Span<const Sibling> siblings) {
  return std::all_of(siblings.begin(), siblings.end(), [&](const Sibling& sibling) {
    return SameKernelSize(sibling.conv, siblings[0].conv);
  });
}

// The filters of all, one behind the other; sets the kernel and the pads of `merged`.
TensorId MergeFilters(RewriteBuilder* builder, absl::Span<const Sibling> siblings,
                      ConvView* merged) {
  std::vector<Extent> heights;
  std::vector<Extent> widths;
  for (const auto& [node, conv] : siblings) {
    heights.push_back({conv.kernel_height, conv.pads[0], conv.pads[2]});
    widths.push_back({conv.kernel_width, conv.pads[1], conv.pads[3]});
  }
  const Axis height = Overlay(heights);
  const Axis width = Overlay(widths);
  merged->kernel_height = height.size;
  merged->kernel_width = width.size;
  merged->pads = {height.pad_begin, width.pad_begin, height.pad_end, width.pad_end};
  const bool fit = HaveEqualKernels(siblings);
  std::vector<TensorId> filters;
  for (size_t i = 0; i < siblings.size(); ++i) {
    filters.push_back(siblings[i].conv.w);
    if (fit) continue;
    const std::vector<int64_t> zeros = {0, 0, height.zeros_begin[i], width.zeros_begin[i],
                                        0, 0, height.zeros_end[i],   width.zeros_end[i]};
    filters[i] =
        builder->Fold(OpKind::kPad, {filters[i], builder->AddConstant(Tensor::Int64s(zeros))});
  }
  return builder->Fold(OpKind::kConcat, filters, {{"axis", int64_t{0}}});
}

// The biases of all, one behind the other; kNoTensor when there is none.
TensorId MergeBiases(RewriteBuilder* builder, absl::Span<const Sibling> siblings) {
  const bool have_none = std::all_of(siblings.begin(), siblings.end(), [](const Sibling& sibling) {
    return sibling.conv.b == kNoTensor;
  });
  if (have_none) return kNoTensor;
  std::vector<TensorId> biases;
  for (const Sibling& sibling : siblings) biases.push_back(BiasOrZeros(builder, sibling.conv));
  return builder->Fold(OpKind::kConcat, biases, {{"axis", int64_t{0}}});
}

Rewrites Merge(const Graph& graph, absl::Span<const Sibling> siblings) {
  RewriteBuilder builder(graph);
  ConvView merged = siblings[0].conv;
  merged.w = MergeFilters(&builder, siblings, &merged);
  merged.b = MergeBiases(&builder, siblings);
  const TensorId result =
      builder.Add(OpKind::kConv, merged.ToAttributes(), {merged.x, merged.w, merged.b});
  std::vector<TensorId> parts;
  for (const Sibling& sibling : siblings) parts.push_back(graph.node(sibling.node).outputs[0]);
  return ReplaceBySplit(graph, &builder, result, 1, std::move(parts));
}

}  // namespace

Rewrites MergeConvs(const Graph& graph, NodeId node, MergedKernels kernels, Misses misses) {
  const TensorId x = graph.node(node).inputs[0];
  const auto is_sibling = [&](NodeId user) {
    return user > node && graph.node(user).op == OpKind::kConv;
  };
  // Before anything is told about the convolution: one that is alone is no case for the rule.
  if (absl::c_none_of(graph.users(x), is_sibling)) return {};
  const auto conv = ViewConv(graph, node, misses);
  if (!conv) return {};
  std::vector<Sibling> siblings = {{node, *conv}};
  for (NodeId user : graph.users(x)) {
    if (!is_sibling(user)) continue;
    const auto other = ViewConv(graph, user, misses);
    if (!other) continue;
    const Sibling sibling{user, *other};
    if (AreMergeable(graph, siblings[0], sibling, kernels)) {
      siblings.push_back(sibling);
    } else {
      misses.Because([&] { return DifferenceText(graph, siblings[0], sibling, kernels); });
    }
  }
  return MergeSets(siblings, [&](absl::Span<const Sibling> set) -> Rewrites {
    // Padding is for kernels that differ.
    if (kernels == MergedKernels::kEqual || !HaveEqualKernels(set)) return Merge(graph, set);
    return misses.Because([&] {
      return absl::StrCat(NodeText(graph, set[1].node), " has a kernel of the same size");
    });
  });
}

}  // namespace plait
