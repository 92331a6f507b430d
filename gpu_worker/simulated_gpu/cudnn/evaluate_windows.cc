#include <algorithm>
#include <limits>

#include "absl/types/span.h"
#include "gpu_worker/simulated_gpu/cudnn/evaluate.h"
#include "gpu_worker/simulated_gpu/products.h"
#include "gpu_worker/simulated_gpu/tensor_memory.h"

// Convolutions and pooling: windows that move over an image.

namespace plait::simulated_gpu {
namespace {

using Sizes = std::vector<int64_t>;

// Pixels of the result that are computed together, in whole rows: what they read of the image then
// stays in a cache.
constexpr int64_t kPixelsTogether = 128;

// What rows `first_row` to before `end_row` of the result read of channels from `first_channel` on:
// a row for each tap of the window, 0 outside of the image.
std::vector<double> Unfolded(const ConvolutionOperation& conv, const ShapedValues& image_values,
                             const Sizes& window, const Sizes& sizes, int64_t image,
                             int64_t first_channel, int64_t first_row, int64_t end_row) {
  const Sizes& x = image_values.sizes;
  std::vector<double> unfolded;
  unfolded.reserve(
      static_cast<size_t>(window[1] * window[2] * window[3] * (end_row - first_row) * sizes[3]));
  for (int64_t tap = 0; tap < window[1] * window[2] * window[3]; ++tap) {
    const int64_t channel = first_channel + tap / (window[2] * window[3]);
    const int64_t r = tap / window[3] % window[2], s = tap % window[3];
    const double* const plane = image_values.values.data() + (image * x[1] + channel) * x[2] * x[3];
    for (int64_t row = first_row; row < end_row; ++row) {
      const int64_t h = row * conv.stride[0] + r * conv.dilation[0] - conv.pad_before[0];
      for (int64_t column = 0; column < sizes[3]; ++column) {
        const int64_t w = column * conv.stride[1] + s * conv.dilation[1] - conv.pad_before[1];
        const bool is_inside = h >= 0 && h < x[2] && w >= 0 && w < x[3];
        unfolded.push_back(is_inside ? plane[h * x[3] + w] : 0);
      }
    }
  }
  return unfolded;
}

}  // namespace

// The product of a group's weights with what some rows of the result read.
TensorValues Evaluate(const ConvolutionOperation& conv, const std::vector<ShapedValues>& inputs,
                      const std::vector<int64_t>& sizes) {
  const Sizes &x = inputs[0].sizes, &w = inputs[1].sizes;
  const int64_t groups = x[1] / w[1], outputs = w[0] / groups, taps = w[1] * w[2] * w[3];
  const int64_t rows_together = std::max<int64_t>(1, kPixelsTogether / sizes[3]);
  TensorValues y(static_cast<size_t>(ElementsOf(sizes)));
  for (int64_t image_group = 0; image_group < sizes[0] * groups; ++image_group) {
    const int64_t image = image_group / groups, group = image_group % groups;
    const auto weights = absl::MakeConstSpan(inputs[1].values)
                             .subspan(static_cast<size_t>(group * outputs * taps),
                                      static_cast<size_t>(outputs * taps));
    for (int64_t row = 0; row < sizes[2]; row += rows_together) {
      const int64_t end = std::min(row + rows_together, sizes[2]);
      const int64_t pixels = (end - row) * sizes[3];
      std::vector<double> part(static_cast<size_t>(outputs * pixels));
      MultiplyAdd(outputs, pixels, taps, weights,
                  Unfolded(conv, inputs[0], w, sizes, image, group * w[1], row, end),
                  absl::MakeSpan(part));
      for (int64_t k = 0; k < outputs; ++k) {
        std::copy_n(
            part.data() + k * pixels, pixels,
            y.data() + ((image * sizes[1] + group * outputs + k) * sizes[2] + row) * sizes[3]);
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
