#pragma once

#include <vector>

#include "optimizer/ops/shared/spatial_window.h"

// The windows of ConvTranspose, which writes where a convolution reads: input element `i` is added
// to the result at i * stride - pad_begin + k * dilation for every kernel element k. Three elements
// by a kernel of 3 with stride 2 and one element cut off (p) on both sides make five:
//
//   [0: p 0 1] [1: 1 2 3] [2: 3 4 p]
//
// That is the picture in spatial_window.h read from below: what Conv makes 3 elements of, this
// makes 5 again. So the same WindowAxis says it, seen from the result.
namespace plait {

// Reads strides, dilations, pads and output_padding (absent: ones and zeros) for a transposed
// window of `kernel` over the axes of `input`. Of each axis `output` is the extent of the input and
// `input` that of the result, stride * (output - 1) + span + output_padding - pads.
// Errors: InvalidArgument as ReadWindow, for an empty input axis, and for a result of no elements;
// Unimplemented for attributes that RaiseTransposedWindow has not replaced.
absl::StatusOr<std::vector<WindowAxis>> ReadTransposedWindow(const Attributes& attributes,
                                                             const TensorType& input,
                                                             absl::Span<const int64_t> kernel);

// OpSpec::raise: writes auto_pad and output_shape as pads and output_padding.
// Errors: InvalidArgument as ReadTransposedWindow; Unimplemented when a shape is not known, and for
// a result so much longer than the input's that no pads give it.
absl::Status RaiseTransposedWindow(VersionedNode* node);

}  // namespace plait
