#include "base/status_macros.h"
#include "gpu_worker/backends/cpu/kernels/depthwise_window.h"
#include "gpu_worker/backends/cpu/kernels/made_rows_kernel.h"
#include "gpu_worker/backends/cpu/kernels/operands.h"
#include "gpu_worker/backends/cpu/offers/family_offer.h"
#include "gpu_worker/backends/groups/separable_pattern.h"

namespace plait {
namespace {

// Pixels of a depthwise convolution, with what follows it.
class DepthwiseRows : public RowMaker {
 public:
  DepthwiseRows(const DepthwiseWindow& window, RowEpilogue epilogue)
      : window_(window), epilogue_(std::move(epilogue)) {}

  void Make(int64_t begin, int64_t end, float* to, int64_t apart_floats) const override {
    window_.Run(begin, end, {to, apart_floats});
    // One long row, where there are no gaps.
    if (apart_floats == window_.channels()) return epilogue_.ApplyToRows(to, begin, end - begin);
    for (int64_t row = begin; row < end; ++row) {
      epilogue_.Apply(to + (row - begin) * apart_floats, row, 0, window_.channels());
    }
  }

 private:
  DepthwiseWindow window_;
  RowEpilogue epilogue_;
};

}  // namespace

// Depthwise convolutions of images in channels-last, multiplied while they are in the caches.
absl::StatusOr<std::unique_ptr<CpuKernel>> LoadSeparable(LoadContext* context) {
  const Graph& graph = context->graph();
  const std::optional<SeparablePattern> pattern = ParseSeparable(graph, context->kernel().nodes);
  if (!pattern.has_value()) return context->Refuse();
  PLAIT_ASSIGN_OR_RETURN(const Operand result,
                         FindIn(context, pattern->after.result, Format::kChannelsLast));
  const int64_t channels = graph.output_type(pattern->depthwise).shape[1];
  PLAIT_ASSIGN_OR_RETURN(
      RowEpilogue between,
      RowEpilogue::OfConvolution(context, pattern->depthwise, pattern->between, channels));
  PLAIT_ASSIGN_OR_RETURN(const DepthwiseWindow window,
                         DepthwiseWindow::Load(context, pattern->depthwise, between.bias()));
  MadeRowsKernel::Parts parts{.shape = *PixelProductAt(graph, pattern->pointwise),
                              .result = result.floats(),
                              .result_apart_floats = result.pixel_elements()};
  parts.maker = std::make_unique<DepthwiseRows>(window, std::move(between));
  PLAIT_ASSIGN_OR_RETURN(parts.epilogue,
                         RowEpilogue::OfConvolution(context, pattern->pointwise, pattern->after,
                                                    parts.result_apart_floats));
  const TensorId filters = graph.node(pattern->pointwise).inputs[1];
  Tensor values;
  const auto make = [&]() -> absl::StatusOr<const float*> {
    PLAIT_ASSIGN_OR_RETURN(values, context->ConstantValue(filters));
    return reinterpret_cast<const float*>(values.bytes().data());
  };
  PLAIT_ASSIGN_OR_RETURN(
      parts.product,
      FmaProduct::Load(
          context, parts.shape,
          {.bias = parts.epilogue.bias(), .may_widen_blocks = true, .made_of = filters}, make));
  return MadeRowsKernel::Create(context, std::move(parts));
}

}  // namespace plait
