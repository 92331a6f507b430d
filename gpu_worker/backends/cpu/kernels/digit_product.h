#pragma once

#include <vector>

#include "gpu_worker/backends/cpu/kernels/digit_layer.h"

namespace plait {

// A product of rows of floats with a constant matrix, computed in digits: result = left * right
// + bias, then the epilogue. A product of fp32 numbers to fp32 accuracy, on units for bytes.
//
// A run writes the rows as digits, each with a scale of its own, by which its largest number
// becomes 127; tiles of 32 by 32 are multiplied, joined and finished one after the other.
//
// A number that is far larger than the others of its row is none of the digits: it is multiplied as
// it is, with what the packed digits stand for, so that the others keep their accuracy. A row with
// an infinity or a NaN, or of numbers so small that a scale would lose them, is multiplied so
// number by number: it is slow and right, and no other row is touched by it.
class DigitProduct : public CpuKernel {
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

  // Reads the kernel's nodes as `problem` and an epilogue. Both tensors lie in `format`, and rows
  // of the result beside each other. Errors: those of DigitLayer.
  static absl::StatusOr<std::unique_ptr<CpuKernel>> Load(LoadContext* context,
                                                         const Problem& problem, Format format);

  absl::Status Run() override;

 private:
  DigitProduct(const Problem& problem, int width, DigitLayer layer)
      : problem_(problem), width_(width), layer_(std::move(layer)) {}

  absl::Status LoadWeights(LoadContext* context);
  void ChooseChunks();
  absl::Status AllocateMemory(LoadContext* context);

  // Writes scales, and digits from `digits` on.
  void SplitRows(int64_t begin, int64_t end, int8_t* digits);
  absl::Status RunChunk(int64_t chunk, int thread, DigitLayer::Lane& lane);
  // The 32 rows, or fewer, from `row` on, whose digits begin at `digits`, by a block of columns.
  absl::Status RunTile(int64_t row, int8_t* digits, int64_t block, int64_t turn,
                       DigitLayer::Lane& lane) const;
  // A row's values in blocks of columns from `first` to `last`: all of a row without a scale, and
  // what outliers add to any other.
  void MultiplyNumbers(int64_t row, int64_t first, int64_t last) const;
  const float* LeftRow(int64_t row) const;

  const Problem problem_;
  const int width_;
  DigitLayer layer_;
  int64_t steps_ = 0;
  int64_t row_bytes_ = 0;     // of digits, from one row to the next
  int64_t plane_bytes_ = 0;   // from one plane to the next
  bool is_by_rows_ = false;   // a chunk has all columns
  int64_t chunk_blocks_ = 1;  // blocks of columns in a chunk
  int64_t chunk_rows_ = 1;
  // Scratch.
  int8_t* digits_ = nullptr;     // [plane][row]; by rows [thread][plane][row of the chunk]
  float* row_scales_ = nullptr;  // by row
  int outliers_max_ = 0;         // of a row
  int32_t* outliers_ = nullptr;  // [row]
  int32_t* outlier_counts_ = nullptr;
};

}  // namespace plait
