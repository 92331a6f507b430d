#pragma once

#include <vector>

#include "gpu_worker/backends/cpu/kernels/plane_layer.h"

namespace plait {

// A product of rows of floats with a constant matrix, computed in planes: result = left * right
// + bias, then the epilogue. A product of fp32 numbers on units for smaller ones.
//
// A run writes the rows as planes; tiles of 32 by 32 are multiplied, joined and finished one after
// the other.
//
// Digits have a scale for each row, by which its largest number becomes 127. A number that is far
// larger than the others of its row is none of the digits: it is multiplied as it is, with what the
// packed digits stand for, so that the others keep their accuracy. A row with an infinity or a NaN,
// or of numbers so small that a scale would lose them, is multiplied so number by number: it is
// slow and right, and no other row is touched by it. So is a row without a scale whose result is
// not finite, whatever made it so.
class PlaneProduct : public CpuKernel {
 public:
  // A product of two matrices that the first node of a kernel stands for: its first input, its
  // second, which is constant, and perhaps a third, a constant vector that is added to each row.
  struct Problem {
    int64_t rows;
    int64_t depth;
    int64_t columns;
    // Row m of the left matrix begins at float m / inner_rows * outer_floats
    // + m % inner_rows * inner_floats. Its numbers lie beside each other.
    int64_t inner_rows = 1;
    int64_t inner_floats = 0;
    int64_t outer_floats = 0;
    // Number k, n of the right matrix is float k * right_row_floats + n * right_column_floats.
    int64_t right_row_floats;
    int64_t right_column_floats;
  };

  // Computes the kernel's nodes, which `layer` has read, as `problem`. Rows of the result lie
  // beside each other. Errors: those of PlaneLayer.
  static absl::StatusOr<std::unique_ptr<CpuKernel>> Load(LoadContext* context,
                                                         const Problem& problem,
                                                         std::unique_ptr<PlaneLayer> layer);

  absl::Status Run() override;

 private:
  PlaneProduct(const Problem& problem, int width, std::unique_ptr<PlaneLayer> layer)
      : problem_(problem), width_(width), layer_(std::move(layer)) {}

  absl::Status LoadWeights(LoadContext* context);
  void ChooseChunks();
  absl::Status AllocateMemory(LoadContext* context);

  absl::Status AllocateScales(LoadContext* context);

  // Writes scales, and planes from `planes` on.
  void SplitRows(int64_t begin, int64_t end, std::byte* planes);
  absl::Status RunChunk(int64_t chunk, int thread, PlaneLayer::Lane& lane);
  // The 32 rows, or fewer, from `row` on, whose planes begin at `planes`, by a block of columns.
  absl::Status RunTile(int64_t row, std::byte* planes, int64_t block, int64_t turn,
                       PlaneLayer::Lane& lane) const;
  // Whether what the planes stand for is a row's values in blocks of columns from `first` to
  // `last`, but for outliers.
  bool IsInPlanes(int64_t row, int64_t first, int64_t last, const PlaneLayer::Lane& lane) const;
  // What outliers add to the row there.
  void AddOutliers(int64_t row, int64_t first, int64_t last) const;
  // The row's values there as products of fp32 numbers.
  void MultiplyNumbers(int64_t row, int64_t first, int64_t last) const;
  const float* LeftRow(int64_t row) const;

  const Problem problem_;
  const int width_;
  const std::unique_ptr<PlaneLayer> layer_;
  int64_t steps_ = 0;
  int64_t row_bytes_ = 0;     // of a plane, from one row to the next
  int64_t plane_bytes_ = 0;   // from one plane to the next
  bool is_by_rows_ = false;   // a chunk has all columns
  int64_t chunk_blocks_ = 1;  // blocks of columns in a chunk
  int64_t chunk_rows_ = 1;
  // Scratch.
  std::byte* planes_ = nullptr;  // [plane][row]; by rows [thread][plane][row of the chunk]
  float* row_scales_ = nullptr;  // by row, of digits, as what follows
  int outliers_max_ = 0;         // of a row
  int32_t* outliers_ = nullptr;  // [row]
  int32_t* outlier_counts_ = nullptr;
};

}  // namespace plait
