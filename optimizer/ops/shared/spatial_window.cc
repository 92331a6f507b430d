#include "optimizer/ops/shared/spatial_window.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace plait {
namespace {

// 2^31: sums and products of two such values fit into 64 bits, and no real model comes near.
constexpr int64_t kWindowValueMax = int64_t{1} << 31;

int64_t DivideRoundingUp(int64_t a, int64_t b) { return (a + b - 1) / b; }

// With ceil_mode a window may hang over the end: 6 elements by a kernel of 3 and stride 2 have room
// 3, which makes 2 windows, or 3 when rounded up; 2 elements lack 1, which makes none, or 1. One
// that would see nothing but padding is dropped.
absl::Status SetOutput(bool ceil_mode, WindowAxis* axis) {
  const int64_t room = axis->input + axis->pad_begin + axis->pad_end - axis->span();
  const bool hangs_over = ceil_mode && axis->input > 0 && room > -axis->stride;
  if (room < 0 && !hangs_over) {
    return absl::InvalidArgumentError(absl::StrCat("the kernel spans ", axis->span(),
                                                   " elements, the padded input has ",
                                                   axis->input + axis->pad_begin + axis->pad_end));
  }
  axis->output = (ceil_mode ? DivideRoundingUp(room, axis->stride) : room / axis->stride) + 1;
  if (ceil_mode && axis->start(axis->output - 1) >= axis->input) --axis->output;
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::vector<int64_t>> WindowValues(const Attributes& attributes,
                                                  absl::string_view name, size_t count,
                                                  int64_t otherwise) {
  std::vector<int64_t> values = attributes.Ints(name);
  if (values.empty()) values.assign(count, otherwise);
  if (values.size() != count) {
    return absl::InvalidArgumentError(
        absl::StrCat(name, " must have ", count, " values, has ", values.size()));
  }
  for (int64_t value : values) {
    if (value < otherwise || value >= kWindowValueMax) {
      return absl::InvalidArgumentError(
          absl::StrCat(name, " must be in [", otherwise, ", ", kWindowValueMax, "), is ", value));
    }
  }
  return values;
}

absl::StatusOr<std::vector<WindowAxis>> ReadUnpaddedWindow(const Attributes& attributes,
                                                           const TensorType& input,
                                                           absl::Span<const int64_t> kernel) {
  const size_t count = kernel.size();
  if (input.rank() < 3 || static_cast<size_t>(input.rank()) != count + 2) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the kernel must have one extent per spatial axis of ", input.ToString(), ", has ", count));
  }
  PLAIT_ASSIGN_OR_RETURN(const std::vector<int64_t> strides,
                         WindowValues(attributes, "strides", count, 1));
  PLAIT_ASSIGN_OR_RETURN(const std::vector<int64_t> dilations,
                         WindowValues(attributes, "dilations", count, 1));
  std::vector<WindowAxis> window(count);
  for (size_t i = 0; i < count; ++i) {
    if (kernel[i] < 1 || kernel[i] >= kWindowValueMax) {
      return absl::InvalidArgumentError(
          absl::StrCat("kernel must be in [1, ", kWindowValueMax, "), is ", kernel[i]));
    }
    window[i] = {.input = input.shape[i + 2],
                 .kernel = kernel[i],
                 .stride = strides[i],
                 .dilation = dilations[i]};
  }
  return window;
}

// The first kernel element at or behind the input's first: start + k * dilation >= 0.
int64_t WindowAxis::kernel_begin(int64_t index) const {
  return start(index) < 0 ? DivideRoundingUp(-start(index), dilation) : 0;
}

int64_t WindowAxis::kernel_end(int64_t index) const {
  if (start(index) >= input) return 0;
  return std::min(kernel, DivideRoundingUp(input - start(index), dilation));
}

absl::StatusOr<std::vector<WindowAxis>> ReadWindow(const Attributes& attributes,
                                                   const TensorType& input,
                                                   absl::Span<const int64_t> kernel,
                                                   bool ceil_mode) {
  const std::string auto_pad = attributes.String("auto_pad", "NOTSET");
  if (auto_pad != "NOTSET" && !auto_pad.empty()) {
    return absl::UnimplementedError(
        absl::StrCat("auto_pad must have been replaced by pads, is ", auto_pad));
  }
  PLAIT_ASSIGN_OR_RETURN(std::vector<WindowAxis> window,
                         ReadUnpaddedWindow(attributes, input, kernel));
  PLAIT_ASSIGN_OR_RETURN(const std::vector<int64_t> pads,
                         WindowValues(attributes, "pads", 2 * window.size(), 0));
  for (size_t i = 0; i < window.size(); ++i) {
    window[i].pad_begin = pads[i];
    window[i].pad_end = pads[i + window.size()];
    PLAIT_RETURN_IF_ERROR(SetOutput(ceil_mode, &window[i]));
  }
  return window;
}

// Axes of one element in front, so that evaluation has one loop for one to three spatial axes.
std::vector<WindowAxis> ThreeAxes(const std::vector<WindowAxis>& window) {
  PLAIT_CHECK(window.size() <= 3);
  std::vector<WindowAxis> axes(3 - window.size());
  axes.insert(axes.end(), window.begin(), window.end());
  return axes;
}

// SAME gives ceil(input / stride) outputs, and as much padding as these need.
// 7 elements, kernel 3, stride 2: 4 outputs, which cover 3 * 2 + 3 = 9 elements, so that two are
// padding, one on each side.
absl::Status RaiseAutoPad(VersionedNode* node) {
  const std::string auto_pad = node->attributes.String("auto_pad", "NOTSET");
  node->attributes.Erase("auto_pad");
  if (auto_pad == "NOTSET" || auto_pad.empty()) return absl::OkStatus();
  node->attributes.Erase("pads");
  if (auto_pad != "VALID" && auto_pad != "SAME_UPPER" && auto_pad != "SAME_LOWER") {
    return absl::InvalidArgumentError(
        absl::StrCat("auto_pad must be NOTSET, VALID, SAME_UPPER or SAME_LOWER, is ", auto_pad));
  }
  // The specification's formula for VALID rounds alike in both modes; its shape inference and
  // runtimes round as ceil_mode says.
  if (auto_pad == "VALID") return absl::OkStatus();
  node->attributes.Erase("ceil_mode");  // the extent is exact
  std::vector<int64_t> kernel = node->attributes.Ints("kernel_shape");
  if (kernel.empty() && node->input_types.size() > 1 && node->input_types[1].rank() > 2) {
    kernel.assign(node->input_types[1].shape.begin() + 2, node->input_types[1].shape.end());
  }
  if (node->input_types.empty() || !node->input_types[0].known() || kernel.empty()) {
    return absl::UnimplementedError(
        absl::StrCat("auto_pad ", auto_pad, " needs the shapes of input and kernel"));
  }
  PLAIT_ASSIGN_OR_RETURN(const std::vector<WindowAxis> window,
                         ReadUnpaddedWindow(node->attributes, node->input_types[0], kernel));
  std::vector<int64_t> pads(2 * window.size());
  for (size_t i = 0; i < window.size(); ++i) {
    const WindowAxis& axis = window[i];
    const int64_t output = DivideRoundingUp(axis.input, axis.stride);
    const int64_t total =
        std::max<int64_t>(0, (output - 1) * axis.stride + axis.span() - axis.input);
    // The odd element goes to the end for SAME_UPPER.
    pads[i] = auto_pad == "SAME_UPPER" ? total / 2 : total - total / 2;
    pads[i + window.size()] = total - pads[i];
  }
  node->attributes.Set("pads", pads);
  return absl::OkStatus();
}

}  // namespace plait
