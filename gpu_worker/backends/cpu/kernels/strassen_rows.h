#pragma once

#include <algorithm>

#include "absl/types/span.h"
#include "gpu_worker/backends/cpu/run/kernel.h"

namespace plait {

// The left side of a product as Strassen's algorithm multiplies it (see loops/loops.h). Row i of
// the upper half and row i of the lower one are a pair. Each row is divided by a power of two near
// the mean of its magnitudes first, so that no row loses what is small beside the other; numbers
// that are far larger than the others of their row are left out, and a row with an infinity or a
// NaN is left out altogether. Different pairs may be read by different threads.
class StrassenRows {
 public:
  // A number that is multiplied as it is.
  struct Outlier {
    int64_t k = 0;
    float value = 0;
  };

  struct Source {
    const float* data = nullptr;
    int64_t rows = 0;
    int64_t depth = 0;         // even
    int64_t apart_floats = 0;  // from one row to the next
  };

  // Reads no row yet.
  // Errors: ResourceExhausted.
  static absl::StatusOr<StrassenRows> Load(LoadContext* context, const Source& source);

  int64_t pairs() const { return (source_.rows + 1) / 2; }
  int64_t rows() const { return source_.rows; }
  int64_t depth() const { return source_.depth; }
  const float* row(int64_t row) const { return source_.data + row * source_.apart_floats; }

  // Writes what is multiplied, of product 0 to `to`.
  void Read(int64_t pair, float* to, int64_t product_floats, int thread) const;

  // What rows were divided by when they were read.
  float factor(int64_t row) const { return factors_[row]; }
  // Those of a row, when it was read.
  absl::Span<const Outlier> OutliersOf(int64_t row) const {
    return {outliers_ + row * outliers_max(), static_cast<size_t>(std::max(counts_[row], 0))};
  }
  // Whether all of a row's numbers are to be multiplied as they are.
  bool IsLeftOut(int64_t row) const { return counts_[row] < 0; }

 private:
  // No more numbers than this can be so much larger than the mean.
  int64_t outliers_max() const { return source_.depth / kOutlierMeans + 1; }
  // The numbers of a row to multiply: itself, or a copy in `spare` without what is left out.
  const float* ReadRow(int64_t row, float* spare) const;
  void TakeOutliers(int64_t row, float limit, float* spare) const;

  // As of a tile that Winograd's algorithm transforms.
  static constexpr int64_t kOutlierMeans = 128;

  Source source_;
  float* factors_ = nullptr;  // by rows, with the last one's partner
  int32_t* counts_ = nullptr;
  Outlier* outliers_ = nullptr;
  float* spare_ = nullptr;  // two rows of each thread
};

}  // namespace plait
