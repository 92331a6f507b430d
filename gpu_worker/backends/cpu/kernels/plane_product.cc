#include "gpu_worker/backends/cpu/kernels/plane_product.h"

#include <algorithm>

#include "base/status_macros.h"
#include "gpu_worker/backends/cpu/kernels/operands.h"
#include "gpu_worker/backends/cpu/team/team.h"

// [128, 768] times [768, 2304] in six products by two threads. Rows: three planes of digits of 128
// rows of 768 bytes, 64 bytes apart so that the rows of a tile lie in different sets of the caches.
// Right: 72 blocks of 32 columns, of 72 KiB each. A chunk is 4 blocks for all rows, and each thread
// has 9 of the 18 chunks, from the front, so that it reads its half of the right matrix once, from
// front to back; while four tiles of 32 rows use a block, the next one is called into the cache.
// [3136, 256] times [256, 64] has more rows than columns: a chunk is then all columns of 64 rows,
// whose digits stay in the cache of the thread that writes them, as does the right matrix, 48 KiB.

namespace plait {
namespace {

constexpr int64_t kBlockRows = 32;
// A row may have an outlier for so many numbers, at most: one costs some fifty times as much as a
// number in digits.
constexpr int64_t kDepthOfOutlier = 256;
constexpr int64_t kRowOutliersMin = 2;

}  // namespace

absl::StatusOr<std::unique_ptr<CpuKernel>> PlaneProduct::Load(LoadContext* context,
                                                              const Problem& problem,
                                                              std::unique_ptr<PlaneLayer> layer) {
  std::unique_ptr<PlaneProduct> product(
      new PlaneProduct(problem, context->width(), std::move(layer)));
  product->steps_ = CeilDiv(problem.depth, product->layer_->step_numbers());
  PLAIT_RETURN_IF_ERROR(product->LoadWeights(context));
  product->ChooseChunks();
  PLAIT_RETURN_IF_ERROR(product->AllocateMemory(context));
  return product;
}

absl::Status PlaneProduct::LoadWeights(LoadContext* context) {
  const auto read = [&](const float* values, int64_t column, float* numbers) {
    const float* const begin = values + column * problem_.right_column_floats;
    for (int64_t k = 0; k < problem_.depth; ++k) numbers[k] = begin[k * problem_.right_row_floats];
  };
  const Fingerprint how = FingerprintBuilder()
                              .Add("product")
                              .Add(problem_.depth)
                              .Add(problem_.right_row_floats)
                              .Add(problem_.right_column_floats)
                              .Finish();
  return layer_->PackWeights(context, steps_, how, read);
}

void PlaneProduct::ChooseChunks() {
  const int64_t blocks = layer_->weights().blocks();
  const int64_t row_blocks = CeilDiv(problem_.rows, kBlockRows);
  is_by_rows_ = problem_.rows > problem_.columns;
  if (is_by_rows_) {
    chunk_blocks_ = blocks;
    chunk_rows_ = kBlockRows * std::clamp<int64_t>(row_blocks / (int64_t{8} * width_), 1, 2);
    return;
  }
  chunk_blocks_ = std::clamp<int64_t>(blocks / (int64_t{4} * width_), 1, 4);
  const int64_t groups = CeilDiv(blocks, chunk_blocks_);
  const int64_t row_groups =
      std::clamp<int64_t>(CeilDiv(int64_t{4} * width_, groups), 1, row_blocks);
  chunk_rows_ = CeilDiv(row_blocks, row_groups) * kBlockRows;
}

absl::Status PlaneProduct::AllocateMemory(LoadContext* context) {
  row_bytes_ = (steps_ + 1) * PlaneLayer::kStepBytes;
  plane_bytes_ = (is_by_rows_ ? chunk_rows_ : problem_.rows) * row_bytes_;
  PlaneTile tile;
  tile.left_row_bytes = static_cast<int32_t>(row_bytes_);
  tile.left_plane_bytes = static_cast<int32_t>(plane_bytes_);
  SetDepth(tile, steps_ * PlaneLayer::kStepBytes);
  if (!is_by_rows_) {
    // Of the next block, an equal share with each tile that uses this one.
    const int64_t tiles = CeilDiv(std::min(problem_.rows, chunk_rows_), kBlockRows);
    const int64_t lines = layer_->planes() * kBlockRows / tiles;
    tile.prefetch_bytes_per_step = static_cast<int32_t>(lines * 64);
  }
  for (const int64_t rows : {std::min(problem_.rows, kBlockRows), problem_.rows % kBlockRows}) {
    if (rows == 0) continue;
    tile.rows[0] = static_cast<int>(std::min<int64_t>(rows, 16));
    tile.rows[1] = static_cast<int>(rows) - tile.rows[0];
    PLAIT_RETURN_IF_ERROR(layer_->AddTile(tile));
  }
  PLAIT_RETURN_IF_ERROR(layer_->AllocateSums(context));
  const int64_t copies = is_by_rows_ ? width_ : 1;
  PLAIT_ASSIGN_OR_RETURN(planes_,
                         context->AllocateScratch(copies * layer_->planes() * plane_bytes_));
  return layer_->has_scales() ? AllocateScales(context) : absl::OkStatus();
}

absl::Status PlaneProduct::AllocateScales(LoadContext* context) {
  PLAIT_ASSIGN_OR_RETURN(std::byte* const scales, context->AllocateScratch(problem_.rows * 4));
  row_scales_ = reinterpret_cast<float*>(scales);
  outliers_max_ = static_cast<int>(std::max(kRowOutliersMin, problem_.depth / kDepthOfOutlier));
  PLAIT_ASSIGN_OR_RETURN(std::byte* const outliers,
                         context->AllocateScratch(problem_.rows * outliers_max_ * 4));
  outliers_ = reinterpret_cast<int32_t*>(outliers);
  PLAIT_ASSIGN_OR_RETURN(std::byte* const counts, context->AllocateScratch(problem_.rows * 4));
  outlier_counts_ = reinterpret_cast<int32_t*>(counts);
  return absl::OkStatus();
}

const float* PlaneProduct::LeftRow(int64_t row) const {
  return layer_->source() + row / problem_.inner_rows * problem_.outer_floats +
         row % problem_.inner_rows * problem_.inner_floats;
}

// Rows that begin at equal distances at a time.
void PlaneProduct::SplitRows(int64_t begin, int64_t end, std::byte* planes) {
  const bool is_even = problem_.inner_rows == 1;
  for (int64_t m = begin; m < end;) {
    const int64_t count =
        is_even ? end - m : std::min(end - m, problem_.inner_rows - m % problem_.inner_rows);
    PlaneRows rows{.x = LeftRow(m),
                   .x_row_floats = is_even ? problem_.outer_floats : problem_.inner_floats,
                   .rows = count,
                   .size = problem_.depth,
                   .plane_size = steps_ * layer_->step_numbers(),
                   .planes = {},
                   .stride_bytes = row_bytes_};
    if (row_scales_ != nullptr) {
      rows.scales = row_scales_ + m;
      rows.outliers = outliers_ + m * outliers_max_;
      rows.outliers_max = outliers_max_;
      rows.outlier_counts = outlier_counts_ + m;
    }
    for (int plane = 0; plane < layer_->planes(); ++plane) {
      rows.planes[plane] = planes + plane * plane_bytes_ + (m - begin) * row_bytes_;
    }
    layer_->Split(rows);
    m += count;
  }
}

absl::Status PlaneProduct::Run() {
  if (!is_by_rows_) {
    ForEachPart(width_, problem_.rows, [&](int64_t begin, int64_t end, int) {
      SplitRows(begin, end, planes_ + begin * row_bytes_);
    });
  }
  const int64_t chunks =
      CeilDiv(layer_->weights().blocks(), chunk_blocks_) * CeilDiv(problem_.rows, chunk_rows_);
  return layer_->RunChunks(chunks, [&](int64_t chunk, int thread, PlaneLayer::Lane& lane) {
    return RunChunk(chunk, thread, lane);
  });
}

absl::Status PlaneProduct::RunChunk(int64_t chunk, int thread, PlaneLayer::Lane& lane) {
  const int64_t row_groups = CeilDiv(problem_.rows, chunk_rows_);
  const int64_t rows_begin = chunk % row_groups * chunk_rows_;
  const int64_t rows_end = std::min(problem_.rows, rows_begin + chunk_rows_);
  const int64_t first = chunk / row_groups * chunk_blocks_;
  const int64_t last = std::min(layer_->weights().blocks(), first + chunk_blocks_);
  std::byte* planes = planes_ + rows_begin * row_bytes_;
  if (is_by_rows_) {
    planes = planes_ + int64_t{thread} * layer_->planes() * plane_bytes_;
    SplitRows(rows_begin, rows_end, planes);
  }
  for (int64_t block = first; block < last; ++block) {
    for (int64_t row = rows_begin; row < rows_end; row += kBlockRows) {
      PLAIT_RETURN_IF_ERROR(RunTile(row, planes + (row - rows_begin) * row_bytes_, block,
                                    (row - rows_begin) / kBlockRows, lane));
    }
  }
  const int64_t begin = first * PlaneWeights::kBlockColumns;
  const int64_t end = std::min(problem_.columns, last * PlaneWeights::kBlockColumns);
  for (int64_t row = rows_begin; row < rows_end; ++row) {
    if (IsInPlanes(row, first, last, lane)) {
      AddOutliers(row, first, last);
    } else {
      MultiplyNumbers(row, first, last);
    }
    layer_->Finish(row, begin, end);
  }
  return absl::OkStatus();
}

absl::Status PlaneProduct::RunTile(int64_t row, std::byte* planes, int64_t block, int64_t turn,
                                   PlaneLayer::Lane& lane) const {
  const auto rows = static_cast<int>(std::min(kBlockRows, problem_.rows - row));
  const int tile_rows[2] = {std::min(rows, 16), std::max(rows - 16, 0)};
  PlaneLayer::Piece pieces[2];
  for (int i = 0; i < 2; ++i) {
    const int64_t begin = row + int64_t{i} * 16;
    pieces[i] = {planes + int64_t{i} * 16 * row_bytes_,
                 (layer_->planes() - 1) * plane_bytes_ + tile_rows[i] * row_bytes_,
                 row_scales_ == nullptr ? nullptr : row_scales_ + begin, tile_rows[i],
                 layer_->result() + begin * problem_.columns};
  }
  return layer_->Multiply(absl::MakeConstSpan(pieces, tile_rows[1] > 0 ? 2 : 1), tile_rows, block,
                          turn, lane);
}

bool PlaneProduct::IsInPlanes(int64_t row, int64_t first, int64_t last,
                              const PlaneLayer::Lane& lane) const {
  if (row_scales_ != nullptr) return row_scales_[row] != kNoDigitScale;
  return lane.is_finite || layer_->IsFinite(first, last, layer_->result() + row * problem_.columns);
}

void PlaneProduct::AddOutliers(int64_t row, int64_t first, int64_t last) const {
  if (row_scales_ == nullptr) return;
  float* const result = layer_->result() + row * problem_.columns;
  for (int32_t i = 0; i < outlier_counts_[row]; ++i) {
    const int32_t k = outliers_[row * outliers_max_ + i];
    layer_->AddNumber(LeftRow(row)[k], k, first, last, result);
  }
}

void PlaneProduct::MultiplyNumbers(int64_t row, int64_t first, int64_t last) const {
  const float* const numbers = LeftRow(row);
  float* const result = layer_->result() + row * problem_.columns;
  layer_->Begin(first, last, result);
  for (int64_t k = 0; k < problem_.depth; ++k) {
    layer_->AddNumber(numbers[k], k, first, last, result);
  }
}

}  // namespace plait
