#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "optimizer/ops/shared/op_spec.h"

// Windows that slide over an input: convolution and pooling. Along one axis, output `o` reads the
// input at o * stride - pad_begin + k * dilation for every kernel element k. With 5 elements, a
// kernel of 3, stride 2 and one element of padding on both sides (p), three windows fit:
//
//   p 0 1 2 3 4 p
//   [0: p 0 1] [1: 1 2 3] [2: 3 4 p]
//
// In general (input + pads - span) / stride + 1 of them, where span = (kernel - 1) * dilation + 1.
namespace plait {

// How a window slides along one spatial axis. All in elements.
struct WindowAxis {
  int64_t input = 1;
  int64_t kernel = 1;
  int64_t stride = 1;
  int64_t dilation = 1;
  int64_t pad_begin = 0;
  int64_t pad_end = 0;
  int64_t output = 1;

  // How far the first and the last kernel element are apart, plus one.
  int64_t span() const { return (kernel - 1) * dilation + 1; }
  // The input position under kernel element 0 of output `index`; may lie in the padding.
  int64_t start(int64_t index) const { return index * stride - pad_begin; }
  // Kernel elements [kernel_begin, kernel_end) of output `index` lie on the input, not on padding.
  int64_t kernel_begin(int64_t index) const;
  int64_t kernel_end(int64_t index) const;
};

// The list `name` of `count` values, all `otherwise` when it is absent.
// Errors: InvalidArgument for another length, and for values below `otherwise` or from 2^31 on.
absl::StatusOr<std::vector<int64_t>> WindowValues(const Attributes& attributes,
                                                  absl::string_view name, size_t count,
                                                  int64_t otherwise);

// Input, kernel, strides and dilations of a window; everything but pads and output.
// Errors: as ReadWindow.
absl::StatusOr<std::vector<WindowAxis>> ReadUnpaddedWindow(const Attributes& attributes,
                                                           const TensorType& input,
                                                           absl::Span<const int64_t> kernel);

// Reads strides, dilations and pads (absent: ones and zeros) for a window of `kernel` over the axes
// of `input` (its first two are batch and channels), and computes the output's extent, rounded up
// when `ceil_mode`: a window that would start beyond the input is dropped then. Errors:
// InvalidArgument for lists of the wrong length, strides, dilations or kernels below 1, pads below
// 0, values of 2^31 and more, and a kernel larger than the padded input, with `ceil_mode` by a
// stride or more; Unimplemented for an auto_pad that RaiseAutoPad has not replaced.
absl::StatusOr<std::vector<WindowAxis>> ReadWindow(const Attributes& attributes,
                                                   const TensorType& input,
                                                   absl::Span<const int64_t> kernel,
                                                   bool ceil_mode);

// The same window with axes of extent 1 in front, so that there are three: loops are written once.
// REQUIRES: at most three axes.
std::vector<WindowAxis> ThreeAxes(const std::vector<WindowAxis>& window);

// OpSpec::raise of operators with windows: writes auto_pad SAME_UPPER, SAME_LOWER and VALID as
// pads. The kernel is the attribute kernel_shape, or else the shape of input 1 behind its first two
// axes. Errors: InvalidArgument as ReadWindow or for another word; Unimplemented when a shape is
// not known.
absl::Status RaiseAutoPad(VersionedNode* node);

}  // namespace plait
