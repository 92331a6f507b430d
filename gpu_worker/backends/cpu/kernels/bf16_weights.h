#pragma once

#include "gpu_worker/backends/cpu/kernels/plane_weights.h"

namespace plait {

// The constant side of a product in planes of bf16: two bytes a number in each plane. Three planes
// hold all of it.
class Bf16Weights : public PlaneWeights {
 public:
  // Packs them by as many threads as the kernel is wide. `read` writes a column's numbers in the
  // order of steps; where it writes none they are 0. It is called from several threads.
  // Errors: InvalidArgument (LoadContext::Refuse) for infinities and NaNs; ResourceExhausted.
  // REQUIRES: 1 to 3 planes of two bytes.
  static absl::StatusOr<Bf16Weights> Pack(
      LoadContext* context, const Shape& shape,
      absl::FunctionRef<void(int64_t column, float* numbers)> read);

  // Adds x times the packed numbers at place k of the steps to y, which begins with the block's
  // first column. A packed number is never 0 unless the number is.
  void AddNumber(float x, int64_t k, int64_t block, float* y) const;

 private:
  bool PackColumn(int64_t column, const float* numbers) const;
  // In the column's block.
  int64_t Offset(int plane, int64_t k, int64_t column) const;
};

}  // namespace plait
