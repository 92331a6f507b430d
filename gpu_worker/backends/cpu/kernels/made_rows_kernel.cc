#include "gpu_worker/backends/cpu/kernels/made_rows_kernel.h"

#include <algorithm>

#include "base/status_macros.h"
#include "gpu_worker/backends/cpu/kernels/fma_kernel.h"
#include "gpu_worker/backends/cpu/kernels/operands.h"
#include "gpu_worker/backends/cpu/team/team.h"

// Depthwise convolutions of [1, 144, 56, 56] that are multiplied to [1, 24, 56, 56], by two
// threads: a chunk is 168 pixels, whose 144 channels, 95 KiB, are written by the depthwise
// convolution and read by the product, twelve tiles of 14 rows, out of the second cache. The 18 KiB
// of the product's weights stay there too.
// [1, 960, 7, 7] to [1, 320, 7, 7] has weights of 1.2 MiB, which no chunk of pixels should read
// anew: the 49 pixels are computed first, and the product is divided by columns.

namespace plait {
namespace {

constexpr int64_t kChunkBytesMax = 96 << 10;
// All rows at once are no more than this, half of what the smallest scratch memory has room for: a
// window of 7 x 7 makes 49 times the image.
constexpr int64_t kAllRowsBytesMax = int64_t{128} << 20;

}  // namespace

absl::StatusOr<std::unique_ptr<CpuKernel>> MadeRowsKernel::Create(LoadContext* context,
                                                                  Parts parts) {
  std::unique_ptr<MadeRowsKernel> kernel(new MadeRowsKernel(context->width(), std::move(parts)));
  PLAIT_RETURN_IF_ERROR(kernel->ChooseChunks(context));
  return kernel;
}

absl::Status MadeRowsKernel::ChooseChunks(LoadContext* context) {
  const int64_t rows = parts_.shape.rows;
  const int64_t tile = parts_.product.tile_rows();
  apart_floats_ = RowFloatsApart(parts_.shape.depth, std::min(rows, tile));
  is_by_rows_ = parts_.product.weights_bytes() <= kCachedWeightsBytesMax ||
                rows * apart_floats_ * 4 > kAllRowsBytesMax;
  // At least four chunks a thread, so that one that is ready sooner can help.
  const int64_t tile_bytes = tile * apart_floats_ * 4;
  const int64_t tiles_max = is_by_rows_ ? std::max<int64_t>(kChunkBytesMax / tile_bytes, 1) : 1;
  const int64_t tiles = std::clamp<int64_t>(rows / (int64_t{4} * width_ * tile), 1, tiles_max);
  chunk_rows_ = RowsOfChunk(rows, tiles * tile, width_);
  const int64_t kept = is_by_rows_ ? width_ * chunk_rows_ : rows;
  PLAIT_ASSIGN_OR_RETURN(std::byte* const scratch,
                         context->AllocateScratch(kept * apart_floats_ * 4));
  rows_ = reinterpret_cast<float*>(scratch);
  parts_.product.set_left_row_floats(apart_floats_);
  parts_.product.set_result_row_floats(parts_.result_apart_floats);
  parts_.product.TakeFrom(&parts_.epilogue);
  if (!is_by_rows_) return parts_.product.AddRows(rows);
  PLAIT_RETURN_IF_ERROR(parts_.product.AddRows(std::min(chunk_rows_, rows)));
  return parts_.product.AddRows(rows % chunk_rows_);
}

void MadeRowsKernel::MakeRows(int64_t chunk, float* rows) const {
  parts_.maker->Make(chunk * chunk_rows_, ChunkEnd(chunk), rows, apart_floats_);
}

void MadeRowsKernel::FinishRows(int64_t chunk) const {
  const int64_t begin = chunk * chunk_rows_;
  parts_.epilogue.ApplyToRows(parts_.result + begin * parts_.result_apart_floats, begin,
                              ChunkEnd(chunk) - begin);
}

absl::Status MadeRowsKernel::RunByRows() {
  const int64_t chunks = CeilDiv(parts_.shape.rows, chunk_rows_);
  return runner_.Run(chunks, [&](int64_t first, int64_t last, int thread) -> absl::Status {
    float* const rows = rows_ + thread * chunk_rows_ * apart_floats_;
    for (int64_t chunk = first; chunk < last; ++chunk) {
      MakeRows(chunk, rows);
      const int64_t begin = chunk * chunk_rows_;
      PLAIT_RETURN_IF_ERROR(
          parts_.product.Run({.left = rows,
                              .rows = ChunkEnd(chunk) - begin,
                              .last = parts_.product.blocks(),
                              .result = parts_.result + begin * parts_.result_apart_floats,
                              .result_row = begin}));
      FinishRows(chunk);
    }
    return absl::OkStatus();
  });
}

absl::Status MadeRowsKernel::RunByColumns() {
  const int64_t rows = parts_.shape.rows;
  const int64_t chunks = CeilDiv(rows, chunk_rows_);
  ForEachPart(width_, chunks, [&](int64_t first, int64_t last, int) {
    for (int64_t chunk = first; chunk < last; ++chunk) {
      MakeRows(chunk, rows_ + chunk * chunk_rows_ * apart_floats_);
    }
  });
  PLAIT_RETURN_IF_ERROR(runner_.Run(parts_.product.blocks(), [&](int64_t first, int64_t last, int) {
    return parts_.product.Run({.left = rows_,
                               .rows = rows,
                               .first = first,
                               .last = last,
                               .result = parts_.result + first * parts_.product.block_columns()});
  }));
  ForEachPart(width_, chunks, [&](int64_t first, int64_t last, int) {
    for (int64_t chunk = first; chunk < last; ++chunk) FinishRows(chunk);
  });
  return absl::OkStatus();
}

}  // namespace plait
