#include <algorithm>
#include <atomic>

#include "base/status_macros.h"
#include "gpu_worker/backends/cpu/kernels/chunk_runner.h"
#include "gpu_worker/backends/cpu/kernels/fma_product.h"
#include "gpu_worker/backends/cpu/kernels/operands.h"
#include "gpu_worker/backends/cpu/kernels/winograd_tiles.h"
#include "gpu_worker/backends/cpu/offers/family_offer.h"
#include "gpu_worker/backends/cpu/team/team.h"

// f4 of [1, 128, 28, 28] by two threads has 49 tiles of 36 elements: all tiles are transformed
// first; then each thread multiplies half of the elements by its half of the 2.3 MiB of weights,
// the next ones of which are called into the second cache while some are used; and the result is
// written at the end. What lies between fits into the caches. [1, 64, 224, 224] has 3136 tiles,
// which are worked on in 16 bands.

namespace plait {
namespace {

// Of a band's elements before and after the product.
constexpr int64_t kBandBytesMax = 4 << 20;

// Rows that lie a multiple of 1 KiB apart would have few places in the first cache.
constexpr int64_t kRowFloatsApart = 16;

// The inverse transform magnifies what sums of products lose: with parts of 32, f4 of 64 to 256
// channels loses as much as a serial sum of the convolution does, and with whole sums twice that.
constexpr int64_t kWinogradPartDepth = 32;

class WinogradKernel : public CpuKernel {
 public:
  static absl::StatusOr<std::unique_ptr<CpuKernel>> Create(LoadContext* context,
                                                           const WinogradTiles& tiles,
                                                           RowEpilogue epilogue) {
    std::unique_ptr<WinogradKernel> kernel(
        new WinogradKernel(context->width(), tiles, std::move(epilogue)));
    PLAIT_RETURN_IF_ERROR(kernel->LoadProduct(context));
    PLAIT_RETURN_IF_ERROR(kernel->ChooseBands(context));
    return kernel;
  }

  absl::Status Run() override {
    for (int64_t begin = 0; begin < tiles_.count(); begin += band_tiles_) {
      PLAIT_RETURN_IF_ERROR(RunBand(begin, std::min(band_tiles_, tiles_.count() - begin)));
    }
    return absl::OkStatus();
  }

 private:
  using Elements = WinogradTiles::Elements;

  WinogradKernel(int width, const WinogradTiles& tiles, RowEpilogue epilogue)
      : width_(width),
        tiles_(tiles),
        epilogue_(std::move(epilogue)),
        runner_(width),
        row_floats_(tiles_.source_channels() + kRowFloatsApart) {}

  absl::Status LoadProduct(LoadContext* context) {
    const int64_t depth = tiles_.source_channels();
    const int64_t columns = tiles_.result_channels();
    std::atomic<bool> are_finite = true;
    const auto read = [&](int64_t k, int64_t column, int64_t count, absl::Span<float* const> to) {
      if (!tiles_.TransformWeights(k, column, count, to)) are_finite = false;
    };
    const Node& conv = context->graph().node(context->kernel().nodes[0]);
    PLAIT_ASSIGN_OR_RETURN(
        product_,
        FmaProduct::LoadRows(context, {.rows = tiles_.count(), .depth = depth, .columns = columns},
                             {.matrices = tiles_.elements(),
                              .part_depth = kWinogradPartDepth,
                              .made_of = conv.inputs[1],
                              .made_how = FingerprintBuilder().Add("winograd").Finish()},
                             read));
    if (!are_finite) return context->Refuse();
    product_.set_left_row_floats(row_floats_);
    return absl::OkStatus();
  }

  absl::Status ChooseBands(LoadContext* context);
  absl::Status RunBand(int64_t begin, int64_t tiles);

  WinogradTiles::Outliers OutliersFrom(int64_t tile) const {
    return {outliers_.first + tile * tiles_.outliers_max(), outliers_.counts + tile};
  }
  // Of the band's tiles from `tile` on.
  Elements Read(int64_t tile) const {
    return {read_ + tile * row_floats_, band_tiles_ * row_floats_, row_floats_};
  }
  Elements Multiplied(int64_t tile) const {
    const int64_t columns = tiles_.result_channels();
    return {multiplied_ + tile * columns, band_tiles_ * columns, columns};
  }

  const int width_;
  const WinogradTiles tiles_;
  const RowEpilogue epilogue_;
  ChunkRunner runner_;
  const int64_t row_floats_;  // of what is transformed, from one tile to the next
  FmaProduct product_;
  int64_t band_tiles_ = 0;
  float* read_ = nullptr;        // scratch: the elements before the product
  float* multiplied_ = nullptr;  // and after it
  float* spare_ = nullptr;       // of each thread
  WinogradTiles::Outliers outliers_;
};

absl::Status WinogradKernel::ChooseBands(LoadContext* context) {
  const int64_t tile_floats = tiles_.elements() * (row_floats_ + tiles_.result_channels());
  const int64_t bands = CeilDiv(tiles_.count() * tile_floats * 4, kBandBytesMax);
  const int64_t rows = product_.tile_rows();
  band_tiles_ = std::min(tiles_.count(), CeilDiv(CeilDiv(tiles_.count(), bands), rows) * rows);
  product_.PrefetchBlocks(band_tiles_);
  PLAIT_RETURN_IF_ERROR(product_.AddRows(band_tiles_));
  PLAIT_RETURN_IF_ERROR(product_.AddRows(tiles_.count() % band_tiles_));
  PLAIT_ASSIGN_OR_RETURN(read_, ScratchOf<float>(context, band_tiles_ * tile_floats));
  multiplied_ = read_ + band_tiles_ * tiles_.elements() * row_floats_;
  PLAIT_ASSIGN_OR_RETURN(spare_, ScratchOf<float>(context, width_ * tiles_.spare_floats()));
  PLAIT_ASSIGN_OR_RETURN(outliers_.counts, ScratchOf<int32_t>(context, band_tiles_));
  PLAIT_ASSIGN_OR_RETURN(outliers_.first, ScratchOf<WinogradTiles::Outlier>(
                                              context, band_tiles_ * tiles_.outliers_max()));
  return absl::OkStatus();
}

absl::Status WinogradKernel::RunBand(int64_t begin, int64_t tiles) {
  ForEachPart(width_, tiles, [&](int64_t first, int64_t last, int thread) {
    tiles_.Read(begin + first, begin + last, Read(first), OutliersFrom(first),
                spare_ + thread * tiles_.spare_floats());
  });
  const int64_t blocks = product_.blocks();
  const auto multiply = [&](int64_t first, int64_t last, int) -> absl::Status {
    const Elements from = Read(0);
    const Elements to = Multiplied(0);
    for (int64_t block = first; block < last; ++block) {
      const int64_t element = block / blocks;
      PLAIT_RETURN_IF_ERROR(product_.Run({.left = from.data + element * from.element_floats,
                                          .rows = tiles,
                                          .matrix = element,
                                          .first = block % blocks,
                                          .last = block % blocks + 1,
                                          .result = to.data + element * to.element_floats +
                                                    block % blocks * product_.block_columns()}));
    }
    return absl::OkStatus();
  };
  PLAIT_RETURN_IF_ERROR(runner_.Run(tiles_.elements() * blocks, multiply));
  ForEachPart(width_, tiles, [&](int64_t first, int64_t last, int) {
    tiles_.Write(begin + first, begin + last, Multiplied(first), OutliersFrom(first), epilogue_);
  });
  return absl::OkStatus();
}

}  // namespace

// Convolutions by windows of 3x3, with fewer multiplications (see loops/loops.h).
absl::StatusOr<std::unique_ptr<CpuKernel>> LoadConvWinograd(LoadContext* context) {
  const Graph& graph = context->graph();
  const std::vector<NodeId>& nodes = context->kernel().nodes;
  if (nodes.empty() || !kConvWinogradOffer.runs(graph, nodes[0])) return context->Refuse();
  const std::string& variant = context->kernel().variant;
  if (variant != "f2" && variant != "f4") return context->Refuse();
  const int extent = variant == "f2" ? 2 : 4;
  PLAIT_ASSIGN_OR_RETURN(RowLayer layer, ReadRowLayer(context, Format::kChannelsLast,
                                                      graph.output_type(nodes[0]).shape[1]));
  PLAIT_ASSIGN_OR_RETURN(WinogradTiles tiles,
                         WinogradTiles::Load(context, graph.node(nodes[0]), extent, layer));
  return WinogradKernel::Create(context, tiles, std::move(layer.epilogue));
}

}  // namespace plait
