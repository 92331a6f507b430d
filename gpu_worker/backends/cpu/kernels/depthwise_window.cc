#include "gpu_worker/backends/cpu/kernels/depthwise_window.h"

#include "base/status_macros.h"
#include "gpu_worker/backends/cpu/kernels/operands.h"

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
  window.window_ = PixelWindow(source, axes);
  window.bias_ = bias;
  PLAIT_ASSIGN_OR_RETURN(const Tensor values, context->ConstantValue(node.inputs[1]));
  const auto* const weights = reinterpret_cast<const float*>(values.bytes().data());
  const int64_t taps = axes[0].kernel * axes[1].kernel;
  const int64_t channels = window.channels();
  PLAIT_ASSIGN_OR_RETURN(std::byte* const packed, context->AllocateWeights(taps * channels * 4));
  window.weights_ = reinterpret_cast<float*>(packed);
  for (int64_t channel = 0; channel < channels; ++channel) {
    for (int64_t tap = 0; tap < taps; ++tap) {
      window.weights_[tap * channels + channel] = weights[channel * taps + tap];
    }
  }
  return window;
}

void DepthwiseWindow::Run(int64_t begin, int64_t end, const PixelWindow::Target& target) const {
  const int64_t row_taps = window_.axis(1).kernel;
  window_.ForEachRun(begin, end, target, [&](const PixelWindow::Run& run) {
    const int64_t first_tap = run.first_tap[0] * row_taps + run.first_tap[1];
    Loops().depthwise_pixels(
        {run.pixels, weights_ + first_tap * channels(), row_taps * channels(), bias_});
  });
}

}  // namespace plait
