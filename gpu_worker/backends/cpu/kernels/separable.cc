#include <algorithm>

#include "base/status_macros.h"
#include "gpu_worker/backends/cpu/kernels/chunk_runner.h"
#include "gpu_worker/backends/cpu/kernels/depthwise_window.h"
#include "gpu_worker/backends/cpu/kernels/fma_product.h"
#include "gpu_worker/backends/cpu/kernels/operands.h"
#include "gpu_worker/backends/cpu/kernels/row_epilogue.h"
#include "gpu_worker/backends/cpu/offers/constant_product.h"
#include "gpu_worker/backends/cpu/offers/family_offer.h"
#include "gpu_worker/backends/cpu/offers/separable_pattern.h"
#include "gpu_worker/backends/cpu/team/team.h"
#include "optimizer/kernels/format_rules.h"

// [1, 144, 56, 56] to [1, 24, 56, 56] by two threads: a chunk is 168 pixels, whose 144 channels, 95
// KiB, are written by the depthwise convolution and read by the product, twelve tiles of 14 rows,
// out of the second cache. The 18 KiB of the product's weights stay there too.
// [1, 960, 7, 7] to [1, 320, 7, 7] has weights of 1.2 MiB, which no chunk of pixels should read
// anew: the 49 pixels are computed first, and the product is divided by columns.

namespace plait {
namespace {

// Weights up to here stay in the second cache beside a chunk's pixels.
constexpr int64_t kWeightsBytesMax = 512 << 10;
constexpr int64_t kChunkBytesMax = 96 << 10;

// The convolutions, each with what follows it.
struct SeparableParts {
  DepthwiseWindow window;
  RowEpilogue between;
  FmaProduct product;
  RowEpilogue after;
  float* result = nullptr;
  int64_t result_pixel_floats = 0;  // from one pixel to the next
};

class SeparableKernel : public CpuKernel {
 public:
  static absl::StatusOr<std::unique_ptr<CpuKernel>> Create(LoadContext* context,
                                                           SeparableParts parts) {
    std::unique_ptr<SeparableKernel> kernel(
        new SeparableKernel(context->width(), std::move(parts)));
    PLAIT_RETURN_IF_ERROR(kernel->ChooseChunks(context));
    return kernel;
  }

  absl::Status Run() override { return is_by_rows_ ? RunByRows() : RunByColumns(); }

 private:
  SeparableKernel(int width, SeparableParts parts)
      : width_(width), parts_(std::move(parts)), runner_(width) {}

  absl::Status ChooseChunks(LoadContext* context);

  absl::Status RunByRows();
  absl::Status RunByColumns();
  int64_t ChunkEnd(int64_t chunk) const {
    return std::min(parts_.window.pixels(), (chunk + 1) * chunk_pixels_);
  }
  // What the product multiplies: of a chunk's pixels.
  void WritePixels(int64_t chunk, float* pixels) const;
  void FinishRows(int64_t chunk) const;

  const int width_;
  SeparableParts parts_;
  ChunkRunner runner_;
  bool is_by_rows_ = true;
  int64_t chunk_pixels_ = 0;
  float* pixels_ = nullptr;  // scratch, by rows of each thread, else of all
};

absl::Status SeparableKernel::ChooseChunks(LoadContext* context) {
  const DepthwiseWindow& window = parts_.window;
  const int64_t pixel_bytes = window.channels() * 4;
  const int64_t tile = parts_.product.tile_rows();
  is_by_rows_ = parts_.product.weights_bytes() <= kWeightsBytesMax;
  // At least four chunks a thread, so that one that is ready sooner can help.
  const int64_t tiles_max =
      is_by_rows_ ? std::max<int64_t>(kChunkBytesMax / (tile * pixel_bytes), 1) : 1;
  chunk_pixels_ =
      tile * std::clamp<int64_t>(window.pixels() / (int64_t{4} * width_ * tile), 1, tiles_max);
  const int64_t kept = is_by_rows_ ? width_ * chunk_pixels_ : window.pixels();
  PLAIT_ASSIGN_OR_RETURN(std::byte* const pixels, context->AllocateScratch(kept * pixel_bytes));
  pixels_ = reinterpret_cast<float*>(pixels);
  if (!is_by_rows_) return parts_.product.AddRows(window.pixels());
  PLAIT_RETURN_IF_ERROR(parts_.product.AddRows(std::min(chunk_pixels_, window.pixels())));
  return parts_.product.AddRows(window.pixels() % chunk_pixels_);
}

void SeparableKernel::WritePixels(int64_t chunk, float* pixels) const {
  const int64_t begin = chunk * chunk_pixels_;
  parts_.window.Run(begin, ChunkEnd(chunk), {pixels, parts_.window.channels()});
  parts_.between.ApplyToRows(pixels, begin, ChunkEnd(chunk) - begin);
}

void SeparableKernel::FinishRows(int64_t chunk) const {
  const int64_t begin = chunk * chunk_pixels_;
  parts_.after.ApplyToRows(parts_.result + begin * parts_.result_pixel_floats, begin,
                           ChunkEnd(chunk) - begin);
}

absl::Status SeparableKernel::RunByRows() {
  const int64_t chunks = CeilDiv(parts_.window.pixels(), chunk_pixels_);
  return runner_.Run(chunks, [&](int64_t first, int64_t last, int thread) -> absl::Status {
    float* const pixels = pixels_ + thread * chunk_pixels_ * parts_.window.channels();
    for (int64_t chunk = first; chunk < last; ++chunk) {
      WritePixels(chunk, pixels);
      const int64_t begin = chunk * chunk_pixels_;
      PLAIT_RETURN_IF_ERROR(
          parts_.product.Run({.left = pixels,
                              .rows = ChunkEnd(chunk) - begin,
                              .last = parts_.product.blocks(),
                              .result = parts_.result + begin * parts_.result_pixel_floats}));
      FinishRows(chunk);
    }
    return absl::OkStatus();
  });
}

absl::Status SeparableKernel::RunByColumns() {
  const int64_t pixels = parts_.window.pixels();
  const int64_t chunks = CeilDiv(pixels, chunk_pixels_);
  ForEachPart(width_, chunks, [&](int64_t first, int64_t last, int) {
    for (int64_t chunk = first; chunk < last; ++chunk) {
      WritePixels(chunk, pixels_ + chunk * chunk_pixels_ * parts_.window.channels());
    }
  });
  PLAIT_RETURN_IF_ERROR(runner_.Run(parts_.product.blocks(), [&](int64_t first, int64_t last, int) {
    return parts_.product.Run(
        {.left = pixels_, .rows = pixels, .first = first, .last = last, .result = parts_.result});
  }));
  ForEachPart(width_, chunks, [&](int64_t first, int64_t last, int) {
    for (int64_t chunk = first; chunk < last; ++chunk) FinishRows(chunk);
  });
  return absl::OkStatus();
}

// `apart_floats` is from one pixel to the next.
absl::StatusOr<RowEpilogue> LoadEpilogue(LoadContext* context, NodeId conv,
                                         const Epilogue& epilogue, int64_t apart_floats) {
  const Graph& graph = context->graph();
  PLAIT_ASSIGN_OR_RETURN(const float* const bias, BiasOf(context, graph.node(conv)));
  const TensorType& type = graph.output_type(conv);
  return RowEpilogue::Load(context, epilogue.operations, bias,
                           EffectiveFormat(type, Format::kChannelsLast),
                           {type.shape[1], apart_floats});
}

}  // namespace

// Depthwise convolutions of images in channels-last, multiplied while they are in the caches.
absl::StatusOr<std::unique_ptr<CpuKernel>> LoadSeparable(LoadContext* context) {
  const Graph& graph = context->graph();
  const std::optional<SeparablePattern> pattern = ParseSeparable(graph, context->kernel().nodes);
  if (!pattern.has_value()) return context->Refuse();
  PLAIT_ASSIGN_OR_RETURN(const Operand result,
                         FindIn(context, pattern->after.result, Format::kChannelsLast));
  SeparableParts parts{.result = result.floats(), .result_pixel_floats = result.pixel_elements()};
  const int64_t channels = graph.output_type(pattern->depthwise).shape[1];
  PLAIT_ASSIGN_OR_RETURN(parts.between,
                         LoadEpilogue(context, pattern->depthwise, pattern->between, channels));
  PLAIT_ASSIGN_OR_RETURN(parts.after, LoadEpilogue(context, pattern->pointwise, pattern->after,
                                                   parts.result_pixel_floats));
  PLAIT_ASSIGN_OR_RETURN(parts.window,
                         DepthwiseWindow::Load(context, pattern->depthwise, parts.between.bias()));
  const Node& pointwise = graph.node(pattern->pointwise);
  PLAIT_ASSIGN_OR_RETURN(const Tensor values, context->ConstantValue(pointwise.inputs[1]));
  const auto* const weights = reinterpret_cast<const float*>(values.bytes().data());
  const ConstantProduct shape = *PixelProductAt(graph, pattern->pointwise);
  PLAIT_ASSIGN_OR_RETURN(
      parts.product,
      FmaProduct::Load(context, shape, {.right = weights, .bias = parts.after.bias()}));
  parts.product.set_result_row_floats(parts.result_pixel_floats);
  return SeparableKernel::Create(context, std::move(parts));
}

}  // namespace plait
