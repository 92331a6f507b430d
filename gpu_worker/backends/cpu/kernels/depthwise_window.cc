#include "gpu_worker/backends/cpu/kernels/depthwise_window.h"

#include <algorithm>

#include "base/status_macros.h"
#include "gpu_worker/backends/cpu/kernels/operands.h"
#include "gpu_worker/backends/cpu/loops/loops.h"

namespace plait {

absl::StatusOr<DepthwiseWindow> DepthwiseWindow::Load(LoadContext* context, NodeId id,
                                                      const float* bias) {
  const Graph& graph = context->graph();
  const Node& node = graph.node(id);
  PLAIT_ASSIGN_OR_RETURN(const Operand source,
                         FindIn(context, node.inputs[0], Format::kChannelsLast));
  const Shape& input = source.type.shape;
  const Shape& output = graph.output_type(id).shape;
  const std::vector<int64_t> strides = node.attributes->Ints("strides");
  const std::vector<int64_t> dilations = node.attributes->Ints("dilations");
  const std::vector<int64_t> pads = node.attributes->Ints("pads");
  DepthwiseWindow window;
  window.source_ = source.floats();
  window.images_ = input[0];
  window.channels_ = input[1];
  for (int axis = 0; axis < 2; ++axis) {
    window.size_[axis] = input[2 + axis];
    window.result_size_[axis] = output[2 + axis];
    window.window_[axis] = graph.input_type(id, 1).shape[2 + axis];
    if (!strides.empty()) window.strides_[axis] = strides[axis];
    if (!dilations.empty()) window.dilations_[axis] = dilations[axis];
    if (!pads.empty()) window.pads_[axis] = pads[axis];
  }
  const auto is_inside = [&](int64_t column) {
    return window.TapsOf(1, column).count == window.window_[1];
  };
  while (window.inside_[0] < output[3] && !is_inside(window.inside_[0])) ++window.inside_[0];
  window.inside_[1] = window.inside_[0];
  while (window.inside_[1] < output[3] && is_inside(window.inside_[1])) ++window.inside_[1];

  window.bias_ = bias;
  PLAIT_ASSIGN_OR_RETURN(const Tensor values, context->ConstantValue(node.inputs[1]));
  const auto* const weights = reinterpret_cast<const float*>(values.bytes().data());
  const int64_t taps = window.window_[0] * window.window_[1];
  PLAIT_ASSIGN_OR_RETURN(std::byte* const packed,
                         context->AllocateWeights(taps * window.channels_ * 4));
  window.weights_ = reinterpret_cast<float*>(packed);
  for (int64_t channel = 0; channel < window.channels_; ++channel) {
    for (int64_t tap = 0; tap < taps; ++tap) {
      window.weights_[tap * window.channels_ + channel] = weights[channel * taps + tap];
    }
  }
  return window;
}

DepthwiseWindow::Taps DepthwiseWindow::TapsOf(int axis, int64_t place) const {
  const int64_t begin = place * strides_[axis] - pads_[axis];
  const int64_t dilation = dilations_[axis];
  const int64_t first = begin < 0 ? CeilDiv(-begin, dilation) : 0;
  const int64_t behind = std::max<int64_t>(size_[axis] - begin, 0);
  const int64_t end = std::min(window_[axis], CeilDiv(behind, dilation));
  return {first, std::max<int64_t>(end - first, 0), begin + first * dilation};
}

void DepthwiseWindow::Run(int64_t begin, int64_t end, float* result) const {
  while (begin < end) {
    const int64_t row = begin / result_size_[1];
    const float* const image = source_ + row / result_size_[0] * size_[0] * size_[1] * channels_;
    const Taps rows = TapsOf(0, row % result_size_[0]);
    int64_t column = begin % result_size_[1];
    const int64_t columns_end = std::min(result_size_[1], column + end - begin);
    while (column < columns_end) {
      const bool is_inside = inside_[0] <= column && column < inside_[1];
      const int64_t count = is_inside ? std::min(inside_[1], columns_end) - column : 1;
      RunPixels(image, rows, column, count, result);
      column += count;
      begin += count;
      result += count * channels_;
    }
  }
}

void DepthwiseWindow::RunPixels(const float* image, const Taps& rows, int64_t column, int64_t count,
                                float* result) const {
  const Taps columns = TapsOf(1, column);
  const int64_t row_floats = size_[1] * channels_;
  const bool is_empty = rows.count == 0 || columns.count == 0;
  Loops().depthwise_pixels(
      {.x = is_empty ? image : image + rows.place * row_floats + columns.place * channels_,
       .x_pixel_floats = strides_[1] * channels_,
       .x_tap_floats = {dilations_[0] * row_floats, dilations_[1] * channels_},
       .weights = weights_ + (rows.first * window_[1] + columns.first) * channels_,
       .weights_row_floats = window_[1] * channels_,
       .taps = {rows.count, columns.count},
       .bias = bias_,
       .y = result,
       .pixels = count,
       .channels = channels_});
}

}  // namespace plait
