#include "gpu_worker/backends/cpu/kernels/strassen_kernel.h"

#include <algorithm>

#include "base/status_macros.h"
#include "gpu_worker/backends/cpu/kernels/fma_kernel.h"
#include "gpu_worker/backends/cpu/kernels/operands.h"
#include "gpu_worker/backends/cpu/loops/loops.h"
#include "gpu_worker/backends/cpu/team/team.h"

// [197, 768] times [768, 3072] by two threads: row 0 and row 99 are the first of 99 pairs, of which
// seven matrices [99, 384] are made first. A chunk is four blocks of 32 columns of each half of the
// result, for all rows: each of the seven matrices, 150 KiB, stays in the second cache for four
// blocks of weights, 48 KiB each, the next of which is called there too. Then the products, 350
// KiB, are joined.
// [784, 1024] times [1024, 512] has too many rows for that, and is multiplied in four bands.

namespace plait {
namespace {

constexpr int64_t kStrassenChunkBlocksMax = 4;
// Of what a product has on its left in a band, which is used for several blocks of columns; all
// weights are read once for each band.
constexpr int64_t kLeftBytesMax = 256 << 10;
constexpr int64_t kBandPairsMin = 128;
// Each row that is written begins with a line of the caches.
constexpr int64_t kLineFloats = 16;

// As many as may be together, so that no thread has more blocks than it must.
int64_t BlocksOfChunk(int64_t blocks, int width) {
  const auto most_of_thread = [&](int64_t together) {
    return CeilDiv(CeilDiv(blocks, together), width) * together;
  };
  int64_t best = kStrassenChunkBlocksMax;
  for (int64_t together = kStrassenChunkBlocksMax; together > 0; --together) {
    if (most_of_thread(together) < most_of_thread(best)) best = together;
  }
  return best;
}

// All, or as many as have matrices that stay in the second cache.
int64_t PairsOfBand(int64_t pairs, int64_t half_depth) {
  const int64_t most = std::max(kBandPairsMin, kLeftBytesMax / (half_depth * 4));
  return CeilDiv(pairs, CeilDiv(pairs, most));
}

}  // namespace

absl::StatusOr<std::unique_ptr<CpuKernel>> StrassenKernel::Create(LoadContext* context,
                                                                  const ConstantProduct& shape,
                                                                  TensorId right, RowLayer layer,
                                                                  int64_t source_apart_floats) {
  PLAIT_ASSIGN_OR_RETURN(const StrassenRows rows,
                         StrassenRows::Load(context, {layer.source.floats(), shape.rows,
                                                      shape.depth, source_apart_floats}));
  std::unique_ptr<StrassenKernel> kernel(
      new StrassenKernel(context->width(), shape, rows, std::move(layer)));
  PLAIT_ASSIGN_OR_RETURN(
      kernel->weights_, StrassenWeights::Load(context, shape, right, kernel->layer_.epilogue.bias(),
                                              kernel->chunk_blocks_));
  PLAIT_RETURN_IF_ERROR(kernel->Prepare(context));
  return kernel;
}

StrassenKernel::StrassenKernel(int width, const ConstantProduct& shape, const StrassenRows& rows,
                               RowLayer layer)
    : width_(width),
      rows_(rows),
      layer_(std::move(layer)),
      runner_(width),
      band_pairs_(PairsOfBand(rows_.pairs(), shape.depth / 2)),
      chunk_blocks_(BlocksOfChunk(CeilDiv(shape.columns / 2, FmaProduct::BlockColumns()), width)) {}

absl::Status StrassenKernel::Prepare(LoadContext* context) {
  FmaProduct& product = weights_.product();
  const int64_t aligned = CeilDiv(rows_.depth() / 2, kLineFloats) * kLineFloats;
  left_row_floats_ = RowFloatsApart(aligned, std::min<int64_t>(rows_.pairs(), product.tile_rows()));
  const int64_t columns = chunk_blocks_ * product.block_columns();
  product.set_left_row_floats(left_row_floats_);
  product.set_result_row_floats(columns);
  product.PrefetchBlocks(band_pairs_);
  PLAIT_RETURN_IF_ERROR(product.AddRows(band_pairs_));
  PLAIT_RETURN_IF_ERROR(product.AddRows(rows_.pairs() % band_pairs_));
  const int64_t products = kStrassenProducts * band_pairs_;
  PLAIT_ASSIGN_OR_RETURN(left_, ScratchOf<float>(context, products * left_row_floats_));
  PLAIT_ASSIGN_OR_RETURN(multiplied_, ScratchOf<float>(context, width_ * products * columns));
  PLAIT_ASSIGN_OR_RETURN(nowhere_, ScratchOf<float>(context, width_ * columns));
  return absl::OkStatus();
}

absl::Status StrassenKernel::Run() {
  const int64_t chunks = CeilDiv(weights_.product().blocks(), chunk_blocks_);
  for (int64_t pair = 0; pair < rows_.pairs(); pair += band_pairs_) {
    ForEachPart(width_, PairsFrom(pair), [&](int64_t begin, int64_t end, int thread) {
      ReadPairs(pair + begin, pair + end, left_ + begin * left_row_floats_, thread);
    });
    PLAIT_RETURN_IF_ERROR(
        runner_.Run(chunks, [&](int64_t first, int64_t last, int thread) -> absl::Status {
          for (int64_t chunk = first; chunk < last; ++chunk) {
            PLAIT_RETURN_IF_ERROR(RunChunk({pair, chunk * chunk_blocks_, thread}));
          }
          return absl::OkStatus();
        }));
  }
  return absl::OkStatus();
}

void StrassenKernel::ReadPairs(int64_t begin, int64_t end, float* to, int thread) const {
  for (int64_t pair = begin; pair < end; ++pair, to += left_row_floats_) {
    rows_.Read(pair, to, band_pairs_ * left_row_floats_, thread);
  }
}

absl::Status StrassenKernel::RunChunk(const Chunk& chunk) const {
  const FmaProduct& product = weights_.product();
  const int64_t columns = chunk_blocks_ * product.block_columns();
  const int64_t pairs = PairsFrom(chunk.pair);
  float* const multiplied = MultipliedOf(chunk.thread);
  const int64_t block_end = std::min(chunk.block + chunk_blocks_, product.blocks());
  for (int64_t i = 0; i < kStrassenProducts; ++i) {
    PLAIT_RETURN_IF_ERROR(product.Run({.left = left_ + i * band_pairs_ * left_row_floats_,
                                       .rows = pairs,
                                       .matrix = i,
                                       .first = chunk.block,
                                       .last = block_end,
                                       .result = multiplied + i * band_pairs_ * columns}));
  }
  for (int64_t i = 0; i < pairs; ++i) JoinPair(chunk, i);
  return absl::OkStatus();
}

float* StrassenKernel::MultipliedOf(int thread) const {
  const int64_t columns = chunk_blocks_ * weights_.product().block_columns();
  return multiplied_ + thread * kStrassenProducts * band_pairs_ * columns;
}

void StrassenKernel::JoinPair(const Chunk& chunk, int64_t number) const {
  const FmaProduct& product = weights_.product();
  const int64_t columns = chunk_blocks_ * product.block_columns();
  const int64_t half = weights_.half_columns();
  const int64_t column = chunk.block * product.block_columns();
  const int64_t count = std::min(half - column, columns);
  const int64_t pair = chunk.pair + number;
  StrassenSums sums = {.x = MultipliedOf(chunk.thread) + number * columns,
                       .x_product_floats = band_pairs_ * columns,
                       .factors = {weights_.factors() + column, weights_.factors() + half + column},
                       .bias = {weights_.bias() + column, weights_.bias() + half + column},
                       .size = count};
  for (int lower = 0; lower < 2; ++lower) {
    const int64_t row = pair + lower * rows_.pairs();
    sums.row_factors[lower] = rows_.factor(row);
    float* const to = layer_.result.floats() + row * layer_.result_apart_floats + column;
    const bool is_there = row < rows_.rows();
    sums.y[lower][0] = is_there ? to : nowhere_ + chunk.thread * columns;
    sums.y[lower][1] = is_there ? to + half : nowhere_ + chunk.thread * columns;
  }
  Loops().strassen_sums(sums);
  for (int lower = 0; lower < 2; ++lower) {
    const int64_t row = pair + lower * rows_.pairs();
    if (row >= rows_.rows()) continue;
    AddWhatWasLeftOut(row, column, count, sums.y[lower]);
    layer_.epilogue.Apply(sums.y[lower][0], row, column, count);
    layer_.epilogue.Apply(sums.y[lower][1], row, column + half, count);
  }
}

void StrassenKernel::AddWhatWasLeftOut(int64_t row, int64_t column, int64_t count,
                                       float* const (&y)[2]) const {
  for (const StrassenRows::Outlier& outlier : rows_.OutliersOf(row)) {
    weights_.AddNumber(outlier.value, outlier.k, column, count, y);
  }
  if (!rows_.IsLeftOut(row)) return;
  for (int half = 0; half < 2; ++half) {
    std::copy_n(weights_.bias() + half * weights_.half_columns() + column, count, y[half]);
  }
  for (int64_t k = 0; k < rows_.depth(); ++k) {
    weights_.AddNumber(rows_.row(row)[k], k, column, count, y);
  }
}

}  // namespace plait
