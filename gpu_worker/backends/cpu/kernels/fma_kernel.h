#pragma once

#include "gpu_worker/backends/cpu/kernels/chunk_runner.h"
#include "gpu_worker/backends/cpu/kernels/fma_product.h"
#include "gpu_worker/backends/cpu/kernels/row_epilogue.h"
#include "gpu_worker/backends/cpu/run/kernel.h"

namespace plait {

// Weights up to here stay in the second cache beside a chunk's rows.
inline constexpr int64_t kCachedWeightsBytesMax = 512 << 10;

// The floats from one row to the next with which rows of so many are multiplied fastest: more than
// they have where too many rows of a tile would meet in one place of the first cache.
int64_t RowFloatsApart(int64_t row_floats, int64_t rows);

// Rows of a chunk, `most` at most, of which each of `width` threads has equally many.
int64_t RowsOfChunk(int64_t rows, int64_t most, int width);

// A product of rows that lie in memory by a constant matrix, and what follows it.
class FmaKernel : public CpuKernel {
 public:
  struct Rows {
    float* data = nullptr;
    int64_t apart_floats = 0;  // from one row to the next
  };

  // `shape` is the product's.
  // Errors: ResourceExhausted; those of FmaProduct::AddRows.
  static absl::StatusOr<std::unique_ptr<CpuKernel>> Create(LoadContext* context,
                                                           const ConstantProduct& shape,
                                                           const Rows& source, const Rows& result,
                                                           FmaProduct product,
                                                           RowEpilogue epilogue);

  absl::Status Run() override;

 private:
  FmaKernel(int width, const ConstantProduct& shape, const Rows& source, const Rows& result,
            FmaProduct product, RowEpilogue epilogue);

  absl::Status Prepare(LoadContext* context);
  bool is_by_rows() const { return chunk_rows_ < shape_.rows; }
  void CopyRows(int64_t begin, int64_t end, float* to) const;
  absl::Status RunChunk(int64_t chunk, int thread) const;
  // Of a chunk's rows, for a thread.
  const float* LeftAt(int64_t row, int64_t rows, int thread) const;

  const int width_;
  const ConstantProduct shape_;
  const Rows source_;
  const Rows result_;
  FmaProduct product_;
  RowEpilogue epilogue_;
  ChunkRunner runner_;
  int64_t chunk_rows_;
  int64_t chunk_blocks_;
  Rows left_;  // what is multiplied: the source, or scratch for copies of all rows or of a
               // chunk's, for each thread
};

}  // namespace plait
