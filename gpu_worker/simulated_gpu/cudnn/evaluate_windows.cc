#include <algorithm>
#include <limits>

#include "gpu_worker/simulated_gpu/cudnn/evaluate.h"
#include "gpu_worker/simulated_gpu/tensor_memory.h"

// Convolutions and pooling: windows that move over an image.

namespace plait::simulated_gpu {
namespace {

using Sizes = std::vector<int64_t>;

// Output columns whose window reads, at one of its columns, inside of the image.
struct Columns {
  int64_t begin = 0, end = 0;
};

Columns Inside(int64_t width, int64_t output_width, int64_t stride, int64_t offset) {
  Columns columns;
  // The least x with x stride + offset >= 0, and the least with x stride + offset >= width.
  const auto least = [&](int64_t bound) {
    return bound <= 0 ? 0 : std::min(output_width, (bound + stride - 1) / stride);
  };
  columns.begin = least(-offset);
  columns.end = std::max(columns.begin, least(width - offset));
  return columns;
}

}  // namespace

// One row of the result at a time takes one row of the image times one weight.
TensorValues Evaluate(const ConvolutionOperation& conv, const std::vector<ShapedValues>& inputs,
                      const std::vector<int64_t>& sizes) {
  const Sizes &x = inputs[0].sizes, &w = inputs[1].sizes;
  const int64_t window_channels = w[1], height = x[2], width = x[3];
  const int64_t outputs_per_group = w[0] / (x[1] / window_channels);
  TensorValues y(static_cast<size_t>(ElementsOf(sizes)));
  for (int64_t image_output = 0; image_output < sizes[0] * sizes[1]; ++image_output) {
    const int64_t image = image_output / sizes[1], k = image_output % sizes[1];
    const int64_t first = k / outputs_per_group * window_channels;
    double* const plane = y.data() + image_output * sizes[2] * sizes[3];
    for (int64_t tap = 0; tap < window_channels * w[2] * w[3]; ++tap) {
      const int64_t c = tap / (w[2] * w[3]), r = tap / w[3] % w[2], s = tap % w[3];
      const double weight =
          inputs[1].values[static_cast<size_t>(k * window_channels * w[2] * w[3] + tap)];
      const int64_t offset = s * conv.dilation[1] - conv.pad_before[1];
      const Columns columns = Inside(width, sizes[3], conv.stride[1], offset);
      for (int64_t row = 0; row < sizes[2]; ++row) {
        const int64_t from_row = row * conv.stride[0] + r * conv.dilation[0] - conv.pad_before[0];
        if (from_row < 0 || from_row >= height) continue;
        const double* from =
            inputs[0].values.data() + ((image * x[1] + first + c) * height + from_row) * width;
        double* to = plane + row * sizes[3];
        for (int64_t column = columns.begin; column < columns.end; ++column) {
          to[column] += weight * from[column * conv.stride[1] + offset];
        }
      }
    }
  }
  return y;
}

TensorValues Evaluate(const ResampleOperation& resample, const std::vector<ShapedValues>& inputs,
                      const std::vector<int64_t>& sizes) {
  const Sizes& x = inputs[0].sizes;
  const bool is_max = resample.mode == CUDNN_RESAMPLE_MAXPOOL;
  const bool counts_padding = resample.mode == CUDNN_RESAMPLE_AVGPOOL_INCLUDE_PADDING;
  TensorValues y(static_cast<size_t>(ElementsOf(sizes)));
  for (size_t i = 0; i < y.size(); ++i) {
    const auto place = static_cast<int64_t>(i);
    const int64_t column = place % sizes[3], row = place / sizes[3] % sizes[2];
    const double* plane = inputs[0].values.data() + place / (sizes[2] * sizes[3]) * x[2] * x[3];
    double result = is_max ? -std::numeric_limits<double>::infinity() : 0;
    int64_t inside = 0;
    for (int64_t tap = 0; tap < resample.window[0] * resample.window[1]; ++tap) {
      const int64_t h =
          row * resample.stride[0] + tap / resample.window[1] - resample.pad_before[0];
      const int64_t w =
          column * resample.stride[1] + tap % resample.window[1] - resample.pad_before[1];
      if (h < 0 || w < 0 || h >= x[2] || w >= x[3]) continue;
      ++inside;
      const double value = plane[h * x[3] + w];
      result = is_max ? std::max(result, value) : result + value;
    }
    const int64_t count = counts_padding ? resample.window[0] * resample.window[1] : inside;
    y[i] = is_max ? result : result / static_cast<double>(count);
  }
  return y;
}

}  // namespace plait::simulated_gpu
