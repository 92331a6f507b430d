#include "gpu_worker/backends/cpu/kernels/depthwise_window.h"

#include <algorithm>

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
  window.loops_ = LoopsOfChannels(window.channels());
  if (window.loops_ == nullptr) return context->Refuse();
  window.by_rows_ = axes[1].dilation == 1 && HasDepthwiseRow(axes[1].kernel, axes[1].stride);
  PLAIT_RETURN_IF_ERROR(window.Pack(context, node.inputs[1]));
  return window;
}

absl::Status DepthwiseWindow::Pack(LoadContext* context, TensorId constant) {
  const int64_t taps = window_.axis(0).kernel * window_.axis(1).kernel;
  const int64_t vector = by_rows_ ? loops_->vector_floats : channels();
  const int64_t vectors = CeilDiv(channels(), vector);
  const Fingerprint form =
      FingerprintBuilder().Add("depthwise").Add(taps).Add(vector).Add(channels()).Finish();
  PLAIT_ASSIGN_OR_RETURN(const SharingExecutable::Place place,
                         context->AllocatePacked(vectors * taps * vector * 4, form));
  weights_ = reinterpret_cast<float*>(place.data);
  if (place.is_packed) return absl::OkStatus();
  PLAIT_ASSIGN_OR_RETURN(const Tensor values, context->ConstantValue(constant));
  const auto* const weights = reinterpret_cast<const float*>(values.bytes().data());
  for (int64_t i = 0; i < vectors; ++i) {
    const int64_t first = std::min(i * vector, channels() - vector);
    for (int64_t tap = 0; tap < taps; ++tap) {
      float* const to = weights_ + (i * taps + tap) * vector;
      for (int64_t j = 0; j < vector; ++j) to[j] = weights[(first + j) * taps + tap];
    }
  }
  return absl::OkStatus();
}

void DepthwiseWindow::Run(int64_t begin, int64_t end, const PixelWindow::Target& target) const {
  const int64_t row_taps = window_.axis(1).kernel;
  if (by_rows_) {
    const int64_t row_weights = row_taps * loops_->vector_floats;
    return window_.ForEachRow(begin, end, target, [&](const PixelWindow::Row& row) {
      loops_->depthwise_row({row.pixels, weights_ + row.first_tap * row_weights,
                             window_.axis(0).kernel * row_weights, bias_});
    });
  }
  window_.ForEachRun(begin, end, target, [&](const PixelWindow::Run& run) {
    const int64_t first_tap = run.first_tap[0] * row_taps + run.first_tap[1];
    loops_->depthwise_pixels(
        {run.pixels, weights_ + first_tap * channels(), row_taps * channels(), bias_});
  });
}

}  // namespace plait
