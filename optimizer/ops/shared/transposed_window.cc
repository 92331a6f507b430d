#include "optimizer/ops/shared/transposed_window.h"

#include <algorithm>
#include <limits>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "optimizer/ops/shared/axes.h"

namespace plait {
namespace {

// The extent of the result with nothing cut off. What overflows is larger than any valid shape.
int64_t UncutExtent(const WindowAxis& axis, int64_t output_padding) {
  return SaturatingAdd(SaturatingMultiply(axis.stride, axis.output - 1),
                       axis.span() + output_padding);
}

// Kernel, strides and dilations, with the input's extents as `output`.
absl::StatusOr<std::vector<WindowAxis>> ReadUncut(const Attributes& attributes,
                                                  const TensorType& input,
                                                  absl::Span<const int64_t> kernel) {
  PLAIT_ASSIGN_OR_RETURN(std::vector<WindowAxis> window,
                         ReadUnpaddedWindow(attributes, input, kernel));
  for (WindowAxis& axis : window) {
    axis.output = axis.input;
    if (axis.output < 1) {
      return absl::InvalidArgumentError(
          absl::StrCat("the spatial axes of ", input.ToString(), " must not be empty"));
    }
  }
  return window;
}

// The wanted extents: those of output_shape, which may name batch and channels as well, or the
// input's times the stride for auto_pad SAME.
// Errors: InvalidArgument for a list of another length.
absl::StatusOr<std::vector<int64_t>> WantedExtents(const VersionedNode& node,
                                                   const std::vector<WindowAxis>& window) {
  std::vector<int64_t> extents = node.attributes.Ints("output_shape");
  if (extents.empty()) {
    for (const WindowAxis& axis : window) {
      extents.push_back(SaturatingMultiply(axis.output, axis.stride));
    }
  }
  if (extents.size() == window.size() + 2) extents.erase(extents.begin(), extents.begin() + 2);
  if (extents.size() == window.size()) return extents;
  return absl::InvalidArgumentError(
      absl::StrCat("output_shape must have ", window.size(), " values, has ", extents.size()));
}

// What is too much is cut off at both ends, and what is missing is output_padding.
// A kernel of 2 with stride 3 leaves gaps: 4 elements make 11, and auto_pad SAME wants 12.
absl::Status WriteCuts(const std::vector<WindowAxis>& window, const std::vector<int64_t>& extents,
                       bool odd_at_end, VersionedNode* node) {
  PLAIT_ASSIGN_OR_RETURN(std::vector<int64_t> paddings,
                         WindowValues(node->attributes, "output_padding", window.size(), 0));
  std::vector<int64_t> pads(2 * window.size());
  for (size_t i = 0; i < window.size(); ++i) {
    const int64_t uncut = UncutExtent(window[i], paddings[i]);
    if (extents[i] < 1 || uncut == std::numeric_limits<int64_t>::max()) {
      return absl::InvalidArgumentError(
          absl::StrCat("output_shape cannot be ", extents[i], " of ", uncut, " elements"));
    }
    const int64_t total = uncut - extents[i];
    if (total < 0) paddings[i] -= total;
    if (paddings[i] >= std::max(window[i].stride, window[i].dilation) && paddings[i] > 0) {
      return absl::UnimplementedError(absl::StrCat("output_shape ", extents[i],
                                                   " is longer than a window of ", window[i].output,
                                                   " elements can write"));
    }
    const int64_t cut = std::max<int64_t>(0, total);
    pads[i] = odd_at_end ? cut / 2 : cut - cut / 2;
    pads[i + window.size()] = cut - pads[i];
  }
  node->attributes.Set("pads", std::move(pads));
  node->attributes.Set("output_padding", std::move(paddings));
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::vector<WindowAxis>> ReadTransposedWindow(const Attributes& attributes,
                                                             const TensorType& input,
                                                             absl::Span<const int64_t> kernel) {
  const std::string auto_pad = attributes.String("auto_pad", "NOTSET");
  if ((auto_pad != "NOTSET" && !auto_pad.empty()) || attributes.Has("output_shape")) {
    return absl::UnimplementedError("auto_pad and output_shape must have been replaced by pads");
  }
  PLAIT_ASSIGN_OR_RETURN(std::vector<WindowAxis> window, ReadUncut(attributes, input, kernel));
  PLAIT_ASSIGN_OR_RETURN(const std::vector<int64_t> pads,
                         WindowValues(attributes, "pads", 2 * window.size(), 0));
  PLAIT_ASSIGN_OR_RETURN(const std::vector<int64_t> output_padding,
                         WindowValues(attributes, "output_padding", window.size(), 0));
  for (size_t i = 0; i < window.size(); ++i) {
    WindowAxis& axis = window[i];
    axis.pad_begin = pads[i];
    axis.pad_end = pads[i + window.size()];
    axis.input = UncutExtent(axis, output_padding[i]) - axis.pad_begin - axis.pad_end;
    if (axis.input < 1) {
      return absl::InvalidArgumentError(
          absl::StrCat("pads cut off all of axis ", i + 2, ", which would have ",
                       axis.input + axis.pad_begin + axis.pad_end, " elements"));
    }
  }
  return window;
}

absl::Status RaiseTransposedWindow(VersionedNode* node) {
  const std::string auto_pad = node->attributes.String("auto_pad", "NOTSET");
  node->attributes.Erase("auto_pad");
  const bool same = auto_pad == "SAME_UPPER" || auto_pad == "SAME_LOWER";
  if (!same && auto_pad != "VALID" && auto_pad != "NOTSET" && !auto_pad.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("auto_pad must be NOTSET, VALID, SAME_UPPER or SAME_LOWER, is ", auto_pad));
  }
  if (auto_pad == "VALID") node->attributes.Erase("pads");
  if (!same && node->attributes.Ints("output_shape").empty()) {
    node->attributes.Erase("output_shape");
    return absl::OkStatus();
  }
  if (node->input_types.size() < 2 || !node->input_types[0].known() ||
      node->input_types[1].rank() < 3) {
    return absl::UnimplementedError("output_shape and auto_pad need the shapes of the inputs");
  }
  const Shape& weights = node->input_types[1].shape;
  PLAIT_ASSIGN_OR_RETURN(
      const std::vector<WindowAxis> window,
      ReadUncut(node->attributes, node->input_types[0], absl::MakeConstSpan(weights).subspan(2)));
  PLAIT_ASSIGN_OR_RETURN(const std::vector<int64_t> extents, WantedExtents(*node, window));
  node->attributes.Erase("output_shape");
  return WriteCuts(window, extents, auto_pad == "SAME_UPPER", node);
}

}  // namespace plait
