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
// [784, 512] times [512, 128] has fewer weights than the second cache has room for: a chunk is 42
// pairs for all columns, which are made, multiplied and joined in the caches.

namespace plait {
namespace {

// Weights up to here stay in the second cache beside a chunk's rows.
constexpr int64_t kWeightsBytesMax = 512 << 10;
// Of what is made of a chunk's rows.
constexpr int64_t kChunkBytesMax = 256 << 10;
constexpr int64_t kChunkBlocksMax = 4;
// Pairs of a chunk are a multiple.
constexpr int64_t kTileRows = 14;

int64_t WeightsBytes(const ConstantProduct& shape) {
  return kStrassenProducts * (shape.depth / 2) * (shape.columns / 2) * 4;
}

// As many as may be together, so that all threads have as many chunks, where that can be.
int64_t BlocksOfChunk(int64_t blocks, int width) {
  for (int64_t together = kChunkBlocksMax; together > 1; --together) {
    if (CeilDiv(blocks, together) % width == 0) return together;
  }
  return 1;
}

}  // namespace

absl::StatusOr<std::unique_ptr<CpuKernel>> StrassenKernel::Create(LoadContext* context,
                                                                  const ConstantProduct& shape,
                                                                  const float* right,
                                                                  RowLayer layer,
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
      is_by_rows_(WeightsBytes(shape) <= kWeightsBytesMax),
      chunk_pairs_(rows_.pairs()),
      chunk_blocks_(CeilDiv(shape.columns / 2, FmaProduct::BlockColumns())) {
  if (!is_by_rows_) {
    chunk_blocks_ = BlocksOfChunk(chunk_blocks_, width_);
    return;
  }
  const int64_t tile_bytes = kTileRows * kStrassenProducts * shape.depth / 2 * 4;
  const int64_t tiles_max = std::max<int64_t>(kChunkBytesMax / tile_bytes, 1);
  const int64_t tiles =
      std::clamp<int64_t>(chunk_pairs_ / (int64_t{4} * width_ * kTileRows), 1, tiles_max);
  chunk_pairs_ = std::min(chunk_pairs_, tiles * kTileRows);
}

absl::Status StrassenKernel::Prepare(LoadContext* context) {
  FmaProduct& product = weights_.product();
  left_row_floats_ =
      RowFloatsApart(rows_.depth() / 2, std::min<int64_t>(rows_.pairs(), product.tile_rows()));
  const int64_t columns = chunk_blocks_ * product.block_columns();
  product.set_left_row_floats(left_row_floats_);
  product.set_result_row_floats(columns);
  if (!is_by_rows_) product.PrefetchBlocks(chunk_pairs_);
  PLAIT_RETURN_IF_ERROR(product.AddRows(chunk_pairs_));
  PLAIT_RETURN_IF_ERROR(product.AddRows(rows_.pairs() % chunk_pairs_));
  const int64_t products = kStrassenProducts * chunk_pairs_;
  const int64_t lefts = is_by_rows_ ? width_ : 1;
  PLAIT_ASSIGN_OR_RETURN(left_, ScratchOf<float>(context, lefts * products * left_row_floats_));
  PLAIT_ASSIGN_OR_RETURN(multiplied_, ScratchOf<float>(context, width_ * products * columns));
  PLAIT_ASSIGN_OR_RETURN(nowhere_, ScratchOf<float>(context, width_ * columns));
  return absl::OkStatus();
}

absl::Status StrassenKernel::Run() {
  if (!is_by_rows_) {
    ForEachPart(width_, rows_.pairs(), [&](int64_t begin, int64_t end, int thread) {
      ReadPairs(begin, end, left_ + begin * left_row_floats_, thread);
    });
  }
  const int64_t pair_chunks = CeilDiv(rows_.pairs(), chunk_pairs_);
  const int64_t block_chunks = CeilDiv(weights_.product().blocks(), chunk_blocks_);
  return runner_.Run(pair_chunks * block_chunks,
                     [&](int64_t first, int64_t last, int thread) -> absl::Status {
                       for (int64_t chunk = first; chunk < last; ++chunk) {
                         PLAIT_RETURN_IF_ERROR(RunChunk(chunk, thread));
                       }
                       return absl::OkStatus();
                     });
}

void StrassenKernel::ReadPairs(int64_t begin, int64_t end, float* to, int thread) const {
  for (int64_t pair = begin; pair < end; ++pair, to += left_row_floats_) {
    rows_.Read(pair, to, chunk_pairs_ * left_row_floats_, thread);
  }
}

// Chunks have all pairs, or all blocks.
absl::Status StrassenKernel::RunChunk(int64_t chunk, int thread) const {
  const FmaProduct& product = weights_.product();
  const int64_t left_floats = chunk_pairs_ * left_row_floats_;
  const int64_t columns = chunk_blocks_ * product.block_columns();
  const Place place = {.pair = is_by_rows_ ? chunk * chunk_pairs_ : 0,
                       .block = is_by_rows_ ? 0 : chunk * chunk_blocks_,
                       .thread = thread};
  const int64_t pairs = std::min(chunk_pairs_, rows_.pairs() - place.pair);
  float* const left = left_ + (is_by_rows_ ? thread * kStrassenProducts * left_floats : 0);
  if (is_by_rows_) ReadPairs(place.pair, place.pair + pairs, left, thread);
  float* const multiplied = MultipliedOf(thread);
  const int64_t block_end = std::min(place.block + chunk_blocks_, product.blocks());
  for (int64_t i = 0; i < kStrassenProducts; ++i) {
    PLAIT_RETURN_IF_ERROR(product.Run({.left = left + i * left_floats,
                                       .rows = pairs,
                                       .matrix = i,
                                       .first = place.block,
                                       .last = block_end,
                                       .result = multiplied + i * chunk_pairs_ * columns}));
  }
  for (int64_t i = 0; i < pairs; ++i) JoinPair(place, i);
  return absl::OkStatus();
}

float* StrassenKernel::MultipliedOf(int thread) const {
  const int64_t columns = chunk_blocks_ * weights_.product().block_columns();
  return multiplied_ + thread * kStrassenProducts * chunk_pairs_ * columns;
}

void StrassenKernel::JoinPair(const Place& place, int64_t number) const {
  const FmaProduct& product = weights_.product();
  const int64_t columns = chunk_blocks_ * product.block_columns();
  const int64_t half = weights_.half_columns();
  const int64_t column = place.block * product.block_columns();
  const int64_t count = std::min(half - column, columns);
  const int64_t pair = place.pair + number;
  StrassenSums sums = {.x = MultipliedOf(place.thread) + number * columns,
                       .x_product_floats = chunk_pairs_ * columns,
                       .factors = {weights_.factors() + column, weights_.factors() + half + column},
                       .bias = {weights_.bias() + column, weights_.bias() + half + column},
                       .size = count};
  for (int lower = 0; lower < 2; ++lower) {
    const int64_t row = pair + lower * rows_.pairs();
    sums.row_factors[lower] = rows_.factor(row);
    float* const to = layer_.result.floats() + row * layer_.result_apart_floats + column;
    const bool is_there = row < rows_.rows();
    sums.y[lower][0] = is_there ? to : nowhere_ + place.thread * columns;
    sums.y[lower][1] = is_there ? to + half : nowhere_ + place.thread * columns;
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
