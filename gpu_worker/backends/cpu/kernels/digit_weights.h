#pragma once

#include "gpu_worker/backends/cpu/kernels/plane_weights.h"

namespace plait {

// The constant side of a product in digits: columns with a scale of their own each, in three bytes
// a number, or two. What the digits leave of a number is kept beside them in one byte more, which
// makes it as exact as an fp32 number where numbers are multiplied as they are.
class DigitWeights : public PlaneWeights {
 public:
  // Packs them by as many threads as the kernel is wide. `read` writes a column's numbers in the
  // order of steps; where it writes none they are 0. It is called from several threads.
  // Errors: InvalidArgument (LoadContext::Refuse) for numbers that digits cannot hold: infinities,
  // NaNs, and columns whose largest number is below 1e-30; ResourceExhausted.
  // REQUIRES: 2 or 3 planes of bytes.
  static absl::StatusOr<DigitWeights> Pack(
      LoadContext* context, const Shape& shape,
      absl::FunctionRef<void(int64_t column, float* numbers)> read);

  const float* scales() const { return scales_; }

  // Adds x times the packed numbers at place k of the steps to y, which begins with the block's
  // first column. A packed number is never 0 unless the number is.
  void AddNumber(float x, int64_t k, int64_t block, float* y) const;

 private:
  bool PackColumn(int64_t column, const float* numbers) const;
  // Among the digits of the column's block, and among all rests.
  int64_t Offset(int plane, int64_t k, int64_t column) const;
  int64_t RestOffset(int64_t k, int64_t column) const;

  int8_t* rests_ = nullptr;  // of the last digit, in its 128ths
  float* scales_ = nullptr;
};

}  // namespace plait
