#include "gpu_worker/backends/cpu/kernels/fma_kernel.h"

#include <algorithm>
#include <numeric>

#include "base/status_macros.h"
#include "gpu_worker/backends/cpu/kernels/operands.h"
#include "gpu_worker/backends/cpu/team/team.h"

// [128, 768] times [768, 3072] by two threads: a chunk is 4 blocks of 32 columns for all rows, and
// each thread reads its half of the 9 MiB of weights once, from front to back; while ten tiles of
// rows use a block of 96 KiB, the next one is called into the second cache.
// [3136, 256] times [256, 64] has more rows than columns: a chunk is 112 rows for all columns,
// whose 64 KiB of weights stay in the second cache. [1024, 768] times [768, 768] would be nine such
// chunks and a rest, five for one thread and less for the other: it is divided into ten of 103.

namespace plait {
namespace {

// A first cache has eight places for all lines that lie a multiple of 4 KiB apart. Where more of
// the 14 rows of a tile meet there than these, the rows drive each other away in every step, and
// are copied further apart before they are multiplied.
constexpr int64_t kBytesThatMeet = 4096;
constexpr int64_t kRowsThatMeetMax = 6;  // the other matrix needs places too
constexpr int64_t kFloatsBetween = 16;

// Tiles of rows in a chunk.
constexpr int64_t kChunkTilesMax = 8;
constexpr int64_t kFmaChunkBlocksMax = 4;

}  // namespace

int64_t RowFloatsApart(int64_t row_floats, int64_t rows) {
  const int64_t places = kBytesThatMeet / std::gcd(row_floats * 4, kBytesThatMeet);
  return rows > kRowsThatMeetMax * places ? row_floats + kFloatsBetween : row_floats;
}

int64_t RowsOfChunk(int64_t rows, int64_t most, int width) {
  const int64_t chunks = CeilDiv(CeilDiv(rows, most), width) * width;
  return CeilDiv(rows, chunks);
}

absl::StatusOr<std::unique_ptr<CpuKernel>> FmaKernel::Create(LoadContext* context,
                                                             const ConstantProduct& shape,
                                                             const Rows& source, const Rows& result,
                                                             FmaProduct product,
                                                             RowEpilogue epilogue) {
  std::unique_ptr<FmaKernel> kernel(new FmaKernel(context->width(), shape, source, result,
                                                  std::move(product), std::move(epilogue)));
  PLAIT_RETURN_IF_ERROR(kernel->Prepare(context));
  return kernel;
}

FmaKernel::FmaKernel(int width, const ConstantProduct& shape, const Rows& source,
                     const Rows& result, FmaProduct product, RowEpilogue epilogue)
    : width_(width),
      shape_(shape),
      source_(source),
      result_(result),
      product_(std::move(product)),
      epilogue_(std::move(epilogue)),
      runner_(width),
      chunk_rows_(shape.rows),
      chunk_blocks_(product_.blocks()),
      left_(source) {
  if (shape.rows > shape.columns) {
    const int64_t tile = product_.tile_rows();
    const int64_t tiles =
        std::clamp<int64_t>(shape.rows / (int64_t{4} * width * tile), 1, kChunkTilesMax);
    chunk_rows_ = RowsOfChunk(shape.rows, tiles * tile, width);
    if (product_.weights_bytes() > kCachedWeightsBytesMax) product_.PrefetchBlocks(chunk_rows_);
  } else {
    chunk_blocks_ =
        std::clamp<int64_t>(product_.blocks() / (int64_t{4} * width), 1, kFmaChunkBlocksMax);
    product_.PrefetchBlocks(shape.rows);
  }
}

// Makes the code, and room for what is copied.
absl::Status FmaKernel::Prepare(LoadContext* context) {
  const int64_t tile_rows = std::min<int64_t>(shape_.rows, product_.tile_rows());
  const int64_t wanted_floats = RowFloatsApart(source_.apart_floats, tile_rows);
  if (wanted_floats != source_.apart_floats) {
    left_.apart_floats = RowFloatsApart(shape_.depth, tile_rows);
    const int64_t rows = is_by_rows() ? width_ * chunk_rows_ : shape_.rows;
    PLAIT_ASSIGN_OR_RETURN(left_.data, ScratchOf<float>(context, rows * left_.apart_floats));
  }
  product_.set_left_row_floats(left_.apart_floats);
  product_.set_result_row_floats(result_.apart_floats);
  product_.TakeFrom(&epilogue_);
  PLAIT_RETURN_IF_ERROR(product_.AddRows(std::min(chunk_rows_, shape_.rows)));
  return product_.AddRows(shape_.rows % chunk_rows_);
}

absl::Status FmaKernel::Run() {
  if (left_.data != source_.data && !is_by_rows()) {
    ForEachPart(width_, shape_.rows, [&](int64_t begin, int64_t end, int) {
      CopyRows(begin, end, left_.data + begin * left_.apart_floats);
    });
  }
  const int64_t chunks =
      CeilDiv(shape_.rows, chunk_rows_) * CeilDiv(product_.blocks(), chunk_blocks_);
  return runner_.Run(chunks, [&](int64_t begin, int64_t end, int thread) -> absl::Status {
    for (int64_t chunk = begin; chunk < end; ++chunk) {
      PLAIT_RETURN_IF_ERROR(RunChunk(chunk, thread));
    }
    return absl::OkStatus();
  });
}

void FmaKernel::CopyRows(int64_t begin, int64_t end, float* to) const {
  for (int64_t row = begin; row < end; ++row, to += left_.apart_floats) {
    std::copy_n(source_.data + row * source_.apart_floats, shape_.depth, to);
  }
}

const float* FmaKernel::LeftAt(int64_t row, int64_t rows, int thread) const {
  if (left_.data == source_.data || !is_by_rows()) return left_.data + row * left_.apart_floats;
  float* const copy = left_.data + thread * chunk_rows_ * left_.apart_floats;
  CopyRows(row, row + rows, copy);
  return copy;
}

// Chunks have all rows, or all blocks.
absl::Status FmaKernel::RunChunk(int64_t chunk, int thread) const {
  const int64_t row = is_by_rows() ? chunk * chunk_rows_ : 0;
  const int64_t rows = std::min(chunk_rows_, shape_.rows - row);
  const int64_t first = is_by_rows() ? 0 : chunk * chunk_blocks_;
  const int64_t last = std::min(product_.blocks(), first + chunk_blocks_);
  float* const result = result_.data + row * result_.apart_floats;
  PLAIT_RETURN_IF_ERROR(product_.Run({.left = LeftAt(row, rows, thread),
                                      .rows = rows,
                                      .first = first,
                                      .last = last,
                                      .result = result + first * product_.block_columns(),
                                      .result_row = row}));
  if (is_by_rows()) {
    epilogue_.ApplyToRows(result, row, rows);
    return absl::OkStatus();
  }
  const int64_t begin = first * product_.block_columns();
  const int64_t end = std::min(shape_.columns, last * product_.block_columns());
  for (int64_t i = 0; i < rows; ++i) {
    epilogue_.Apply(result + i * result_.apart_floats + begin, row + i, begin, end - begin);
  }
  return absl::OkStatus();
}

}  // namespace plait
