#include <algorithm>

#include "base/status_macros.h"
#include "gpu_worker/backends/cpu/kernels/batch_statistics.h"
#include "gpu_worker/backends/cpu/kernels/fma_kernel.h"
#include "gpu_worker/backends/cpu/kernels/made_rows_kernel.h"
#include "gpu_worker/backends/cpu/kernels/operands.h"
#include "gpu_worker/backends/cpu/kernels/unary_choice.h"
#include "gpu_worker/backends/cpu/offers/family_offer.h"
#include "gpu_worker/backends/cpu/offers/fma_convolution.h"
#include "gpu_worker/backends/groups/pointwise.h"
#include "optimizer/ops/shared/spatial_window.h"

namespace plait {
namespace {

// Pixels of an image, normalized.
class NormalizedRows : public RowMaker {
 public:
  NormalizedRows(const Operand& source, const BatchStatistics& statistics)
      : source_(source.floats()),
        source_pixel_floats_(source.pixel_elements()),
        statistics_(statistics) {}

  void set_activation(const UnaryChoice& activation) { activation_ = activation; }

  void Make(int64_t begin, int64_t end, float* to, int64_t apart_floats) const override {
    const int64_t channels = statistics_.channels;
    for (int64_t row = begin; row < end; ++row, to += apart_floats) {
      const float* const pixel = source_ + row * source_pixel_floats_;
      Loops().multiply_add(pixel, statistics_.scale, statistics_.shift, to, channels);
      if (!activation_.has_value()) continue;
      const auto& [loop, alpha, beta] = *activation_;
      Loops().unary[static_cast<int>(loop)](to, to, channels, alpha, beta);
    }
  }

 private:
  const float* source_;
  int64_t source_pixel_floats_;
  BatchStatistics statistics_;
  std::optional<UnaryChoice> activation_;
};

// The pixels under a window, by rows of the window, zeros for the padding: a matrix that is never
// there as a whole.
class WindowRows : public RowMaker {
 public:
  WindowRows(const Operand& source, absl::Span<const WindowAxis> axes)
      : source_(source.floats()),
        source_pixel_floats_(source.pixel_elements()),
        channels_(source.type.shape[1]) {
    std::copy(axes.begin(), axes.end(), axes_);
  }

  void Make(int64_t begin, int64_t end, float* to, int64_t apart_floats) const override {
    const auto& [rows, columns] = axes_;
    for (int64_t pixel = begin; pixel < end; ++pixel, to += apart_floats) {
      const int64_t row = pixel / columns.output;
      const int64_t image = row / rows.output;
      float* taps = to;
      for (int64_t tap = 0; tap < rows.kernel; ++tap) {
        const int64_t y = rows.start(row % rows.output) + tap * rows.dilation;
        const bool is_inside = y >= 0 && y < rows.input;
        const float* const source_row =
            is_inside ? source_ + (image * rows.input + y) * columns.input * source_pixel_floats_
                      : nullptr;
        CopyTaps(source_row, pixel % columns.output, taps);
        taps += columns.kernel * channels_;
      }
    }
  }

 private:
  // A row of the window; `source_row` nullptr: in the padding.
  void CopyTaps(const float* source_row, int64_t column, float* to) const {
    const WindowAxis& columns = axes_[1];
    // Of a window that lies in the padding before the image altogether, the first tap on the image
    // would be one behind the window.
    const int64_t first = source_row == nullptr
                              ? columns.kernel
                              : std::min(columns.kernel, columns.kernel_begin(column));
    const int64_t last = source_row == nullptr ? columns.kernel : columns.kernel_end(column);
    std::fill_n(to, first * channels_, 0.0f);
    for (int64_t tap = first; tap < last; ++tap) {
      const int64_t x = columns.start(column) + tap * columns.dilation;
      std::copy_n(source_row + x * source_pixel_floats_, channels_, to + tap * channels_);
    }
    const int64_t behind = std::max(first, last);
    std::fill_n(to + behind * channels_, (columns.kernel - behind) * channels_, 0.0f);
  }

  const float* source_;
  int64_t source_pixel_floats_;
  int64_t channels_;
  WindowAxis axes_[2];
};

// A filter's numbers by taps, and by channels of a tap: [result channel][tap][channel].
// Errors: ResourceExhausted.
absl::StatusOr<const float*> FiltersByTaps(LoadContext* context, const Tensor& weights) {
  const Shape& shape = weights.type().shape;
  const int64_t taps = shape[2] * shape[3];
  const auto* const values = reinterpret_cast<const float*>(weights.bytes().data());
  PLAIT_ASSIGN_OR_RETURN(std::byte* const memory, context->AllocateForLoad(weights.type().bytes()));
  auto* const filters = reinterpret_cast<float*>(memory);
  for (int64_t filter = 0; filter < shape[0]; ++filter) {
    const int64_t begin = filter * shape[1] * taps;
    for (int64_t c = 0; c < shape[1]; ++c) {
      for (int64_t tap = 0; tap < taps; ++tap) {
        filters[begin + tap * shape[1] + c] = values[begin + c * taps + tap];
      }
    }
  }
  return filters;
}

absl::StatusOr<std::unique_ptr<RowMaker>> LoadNormalizedRows(LoadContext* context,
                                                             const FmaConvolution& convolution,
                                                             const Operand& source) {
  const Node& node = context->graph().node(convolution.normalization);
  PLAIT_ASSIGN_OR_RETURN(const BatchStatistics statistics, LoadBatchStatistics(context, node));
  auto rows = std::make_unique<NormalizedRows>(source, statistics);
  if (convolution.activation.has_value()) {
    const std::optional<UnaryChoice> choice = ChooseUnary(*convolution.activation);
    if (!choice.has_value()) return context->Refuse();
    rows->set_activation(*choice);
  }
  return rows;
}

}  // namespace

// Convolutions of images in channels-last, each pixel of whose result is a row of a product, in
// fp32 (see fma_product.h): of what lies there, or of rows that are made of it.
absl::StatusOr<std::unique_ptr<CpuKernel>> LoadConvFma(LoadContext* context) {
  const Graph& graph = context->graph();
  const std::optional<FmaConvolution> convolution =
      ParseFmaConvolution(graph, context->kernel().nodes);
  if (!convolution.has_value()) return context->Refuse();
  const Node& conv = graph.node(convolution->conv);
  const bool is_normalized = convolution->normalization != kNoNode;
  const NodeId first = is_normalized ? convolution->normalization : convolution->conv;
  PLAIT_ASSIGN_OR_RETURN(const Operand source,
                         FindIn(context, graph.node(first).inputs[0], Format::kChannelsLast));
  PLAIT_ASSIGN_OR_RETURN(const Operand result,
                         FindIn(context, convolution->after.result, Format::kChannelsLast));
  PLAIT_ASSIGN_OR_RETURN(RowEpilogue epilogue,
                         RowEpilogue::OfConvolution(context, convolution->conv, convolution->after,
                                                    result.pixel_elements()));
  const Shape& filters = graph.type(conv.inputs[1]).shape;
  const int64_t depth = filters[1] * filters[2] * filters[3];
  const ConstantProduct shape{.rows = result.type.elements() / filters[0],
                              .depth = depth,
                              .columns = filters[0],
                              .right_row_floats = 1,
                              .right_column_floats = depth};
  const int64_t taps = filters[2] * filters[3];
  Tensor weights;
  const auto make = [&]() -> absl::StatusOr<const float*> {
    PLAIT_ASSIGN_OR_RETURN(weights, context->ConstantValue(conv.inputs[1]));
    if (taps == 1) return reinterpret_cast<const float*>(weights.bytes().data());
    return FiltersByTaps(context, weights);
  };
  FmaProduct::Constants constants = {
      .bias = epilogue.bias(), .may_widen_blocks = true, .made_of = conv.inputs[1]};
  if (taps > 1) constants.made_how = FingerprintBuilder().Add("by taps").Add(taps).Finish();
  PLAIT_ASSIGN_OR_RETURN(FmaProduct product, FmaProduct::Load(context, shape, constants, make));
  if (!is_normalized && IsPixelByPixel(graph, convolution->conv)) {
    return FmaKernel::Create(context, shape, {source.floats(), source.pixel_elements()},
                             {result.floats(), result.pixel_elements()}, std::move(product),
                             std::move(epilogue));
  }
  MadeRowsKernel::Parts parts{.shape = shape,
                              .product = std::move(product),
                              .epilogue = std::move(epilogue),
                              .result = result.floats(),
                              .result_apart_floats = result.pixel_elements()};
  if (is_normalized) {
    PLAIT_ASSIGN_OR_RETURN(parts.maker, LoadNormalizedRows(context, *convolution, source));
  } else {
    PLAIT_ASSIGN_OR_RETURN(
        const std::vector<WindowAxis> axes,
        ReadWindow(*conv.attributes, source.type, absl::MakeConstSpan(filters).subspan(2),
                   /*ceil_mode=*/false));
    parts.maker = std::make_unique<WindowRows>(source, axes);
  }
  return MadeRowsKernel::Create(context, std::move(parts));
}

}  // namespace plait
