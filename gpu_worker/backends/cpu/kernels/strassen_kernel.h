#pragma once

#include "gpu_worker/backends/cpu/kernels/chunk_runner.h"
#include "gpu_worker/backends/cpu/kernels/row_epilogue.h"
#include "gpu_worker/backends/cpu/kernels/strassen_rows.h"
#include "gpu_worker/backends/cpu/kernels/strassen_weights.h"

namespace plait {

// A product of rows that lie in memory by a constant matrix, by Strassen's algorithm (see
// loops/loops.h), and what follows it.
class StrassenKernel : public CpuKernel {
 public:
  // `right` is the constant that has the matrix as `shape` says; the rows of the layer's source lie
  // `source_apart_floats` apart.
  // Errors: those of StrassenWeights::Load and FmaProduct::AddRows.
  static absl::StatusOr<std::unique_ptr<CpuKernel>> Create(LoadContext* context,
                                                           const ConstantProduct& shape,
                                                           TensorId right, RowLayer layer,
                                                           int64_t source_apart_floats);

  absl::Status Run() override;

 private:
  // Some columns of a band of pairs.
  struct Chunk {
    int64_t pair;   // the band's first
    int64_t block;  // of columns of a half, the first
    int thread;     // that computes it
  };

  StrassenKernel(int width, const ConstantProduct& shape, const StrassenRows& rows, RowLayer layer);

  // Makes the code, and room for what is read and multiplied.
  absl::Status Prepare(LoadContext* context);
  // Those of the band that begins with `pair`.
  int64_t PairsFrom(int64_t pair) const { return std::min(band_pairs_, rows_.pairs() - pair); }
  // Makes the left sides of some pairs, of the first one at `to`.
  void ReadPairs(int64_t begin, int64_t end, float* to, int thread) const;
  absl::Status RunChunk(const Chunk& chunk) const;
  float* MultipliedOf(int thread) const;
  // Pair `number` of the band.
  void JoinPair(const Chunk& chunk, int64_t number) const;
  void AddWhatWasLeftOut(int64_t row, int64_t column, int64_t count, float* const (&y)[2]) const;

  const int width_;
  const StrassenRows rows_;
  StrassenWeights weights_;
  const RowLayer layer_;
  ChunkRunner runner_;
  const int64_t band_pairs_;    // at most
  const int64_t chunk_blocks_;  // of a half, at most
  int64_t left_row_floats_ = 0;
  float* left_ = nullptr;        // scratch [product][pair of the band]
  float* multiplied_ = nullptr;  // scratch of each thread [product][pair][columns of a chunk]
  float* nowhere_ = nullptr;     // scratch for the partner of the last row, of each thread
};

}  // namespace plait
