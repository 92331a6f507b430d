#pragma once

#include <array>
#include <optional>

#include "gpu_worker/backends/cpu/kernels/bytes.h"
#include "optimizer/ops/shared/spatial_window.h"

namespace plait {

// The bytes that are added to what a convolution gives.
struct IntegerAddend {
  Operand bytes;  // lies as the result does
  DataType convolution_dtype = DataType::kUint8;
  ByteSum sum;
};

// A ConvInteger or QLinearConv over a row, an image or a volume, as integer_conv's kernels read it.
// A row is an image of one line, and an image a volume of one slice; what lies in channels-last is
// an image.
struct IntegerConvolution {
  WindowAxis slices;
  std::array<WindowAxis, 2> window;
  int64_t batch = 1;
  int64_t groups = 1;
  int64_t source_channels = 1;  // of a group
  int64_t channels = 1;         // of the result in a group
  Operand source;
  ByteParameter source_zero_point;
  ByteParameter weights_zero_point;
  Operand result;           // of the sum with the addend, where there is one
  IntegerLimits limits;     // of what the convolution gives, where it is in bytes
  ByteParameter scales[3];  // of image, weights and result, where it is in bytes
  ByteParameter result_zero_point;
  ByteParameter bias;
  std::optional<IntegerAddend> addend;

  // Of what the convolution gives.
  DataType dtype() const { return addend ? addend->convolution_dtype : result.type.dtype; }
  ByteRange range() const { return ByteRangeOf(dtype(), result_zero_point.integer(0), limits); }
  int64_t depth() const {
    return source_channels * slices.kernel * window[0].kernel * window[1].kernel;
  }
  int64_t pixels() const { return slices.output * window[0].output * window[1].output; }
  int64_t pixel_channels() const { return groups * source_channels; }
  // Of the source with its padding: its slices, the lines of each and the numbers of a line.
  int64_t slice_count() const { return slices.input + slices.pad_begin + slices.pad_end; }
  int64_t lines() const { return window[0].input + window[0].pad_begin + window[0].pad_end; }
  int64_t line_numbers() const { return window[1].input + window[1].pad_begin + window[1].pad_end; }
  // From one channel to the next, row-major.
  int64_t channel_numbers() const { return slice_count() * lines() * line_numbers(); }

  // What a sum of each channel is multiplied by, where the result is in bytes.
  void SetFactors(absl::Span<float> factors) const;

  // What is added to the byte at `y` in the result. REQUIRES: there is an addend.
  const uint8_t* AddendAt(const std::byte* y) const {
    return BytesAt(addend->bytes) + (y - result.data);
  }

  // Adds the addend, if there is one, to `count` bytes that the convolution gave, at `y` in the
  // result.
  void AddBytes(std::byte* y, int64_t count) const;
};

// The weights among the node's inputs.
TensorId WeightsOf(const Node& node);

// Of a node that kIntegerConvOffer.runs, with what follows it in the kernel, and with source and
// result in `format`.
// Errors: InvalidArgument (LoadContext::Refuse) for images whose places are no int32, where the
// tensors lie otherwise, and where anything but bounds follows.
absl::Status ReadIntegerConvolution(LoadContext* context, const Node& node, Format format,
                                    IntegerConvolution* convolution);

}  // namespace plait
