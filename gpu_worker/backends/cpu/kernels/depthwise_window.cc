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
  const Shape& weights_shape = graph.input_type(id, 1).shape;
  PLAIT_ASSIGN_OR_RETURN(const std::vector<WindowAxis> axes,
                         ReadWindow(*node.attributes, source.type,
                                    absl::MakeConstSpan(weights_shape).subspan(2), false));
  DepthwiseWindow window;
  window.source_ = source.floats();
  window.images_ = source.type.shape[0];
  window.channels_ = source.type.shape[1];
  std::copy(axes.begin(), axes.end(), window.axes_);
  const WindowAxis& columns = window.axes_[1];
  const auto is_inside = [&](int64_t column) {
    return columns.kernel_end(column) - columns.kernel_begin(column) == columns.kernel;
  };
  int64_t(&inside)[2] = window.inside_;
  while (inside[0] < columns.output && !is_inside(inside[0])) ++inside[0];
  inside[1] = inside[0];
  while (inside[1] < columns.output && is_inside(inside[1])) ++inside[1];

  window.bias_ = bias;
  PLAIT_ASSIGN_OR_RETURN(const Tensor values, context->ConstantValue(node.inputs[1]));
  const auto* const weights = reinterpret_cast<const float*>(values.bytes().data());
  const int64_t taps = window.axes_[0].kernel * columns.kernel;
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

void DepthwiseWindow::Run(int64_t begin, int64_t end, float* result) const {
  const WindowAxis& rows = axes_[0];
  const WindowAxis& columns = axes_[1];
  while (begin < end) {
    const int64_t row = begin / columns.output;
    const float* const image = source_ + row / rows.output * rows.input * columns.input * channels_;
    int64_t column = begin % columns.output;
    const int64_t columns_end = std::min(columns.output, column + end - begin);
    while (column < columns_end) {
      const bool is_inside = inside_[0] <= column && column < inside_[1];
      const int64_t count = is_inside ? std::min(inside_[1], columns_end) - column : 1;
      RunPixels(image, row % rows.output, column, count, result);
      column += count;
      begin += count;
      result += count * channels_;
    }
  }
}

void DepthwiseWindow::RunPixels(const float* image, int64_t row, int64_t column, int64_t count,
                                float* result) const {
  const int64_t at[2] = {row, column};
  int64_t first[2];  // tap that lies in the source
  int64_t taps[2];
  int64_t place[2];  // of it
  for (int axis = 0; axis < 2; ++axis) {
    first[axis] = axes_[axis].kernel_begin(at[axis]);
    taps[axis] = std::max<int64_t>(axes_[axis].kernel_end(at[axis]) - first[axis], 0);
    place[axis] = axes_[axis].start(at[axis]) + first[axis] * axes_[axis].dilation;
  }
  const int64_t row_floats = axes_[1].input * channels_;
  const bool is_empty = taps[0] == 0 || taps[1] == 0;
  Loops().depthwise_pixels(
      {.x = is_empty ? image : image + place[0] * row_floats + place[1] * channels_,
       .x_pixel_floats = axes_[1].stride * channels_,
       .x_tap_floats = {axes_[0].dilation * row_floats, axes_[1].dilation * channels_},
       .weights =
           is_empty ? weights_ : weights_ + (first[0] * axes_[1].kernel + first[1]) * channels_,
       .weights_row_floats = axes_[1].kernel * channels_,
       .taps = {taps[0], taps[1]},
       .bias = bias_,
       .y = result,
       .pixels = count,
       .channels = channels_});
}

}  // namespace plait
