#pragma once

#include <vector>

#include "absl/functional/function_ref.h"
#include "gpu_worker/backends/cpu/microkernel/digit_microkernel.h"
#include "gpu_worker/backends/cpu/run/kernel.h"

namespace plait {

// The constant side of a product in digits: columns, each with a scale of its own, in blocks of 32,
// in the order in which the microkernel reads them; three bytes a number, or two. What the digits
// leave of a number is kept beside them in one byte more, which makes it as exact as an fp32 number
// where numbers are multiplied as they are. Part of an executable's weights.
class DigitWeights {
 public:
  static constexpr int kBlockColumns = 32;

  struct Shape {
    int64_t columns;
    int64_t steps;  // of 64 numbers of each column
    int planes;     // 2 or 3
  };

  // Packs them by as many threads as the kernel is wide. `read` writes a column's numbers in the
  // order of steps; where it writes none they are 0. It is called from several threads.
  // Errors: InvalidArgument (LoadContext::Refuse) for numbers that digits cannot hold: infinities,
  // NaNs, and columns whose largest number is below 1e-30; ResourceExhausted.
  static absl::StatusOr<DigitWeights> Pack(
      LoadContext* context, const Shape& shape,
      absl::FunctionRef<void(int64_t column, float* numbers)> read);

  int64_t blocks() const;
  // Columns of a block: 32, or fewer of the last one.
  int ColumnsOf(int64_t block) const;
  std::byte* block(int64_t block) const { return digits_ + block * block_bytes_; }
  int64_t block_bytes() const { return block_bytes_; }
  const float* scales() const { return scales_; }

  // Adds x times the packed numbers at place k of the steps to y, which begins with the block's
  // first column. A packed number is never 0 unless the number is.
  void AddNumber(float x, int64_t k, int64_t block, float* y) const;

 private:
  bool PackBlock(int64_t block, absl::FunctionRef<void(int64_t column, float* numbers)> read) const;
  // Among the digits, and among the rests.
  int64_t Offset(int plane, int64_t k, int64_t column) const;
  int64_t RestOffset(int64_t k, int64_t column) const;

  Shape shape_{};
  int64_t block_bytes_ = 0;
  std::byte* digits_ = nullptr;
  int8_t* rests_ = nullptr;  // of the last digit, in its 128ths
  float* scales_ = nullptr;
};

}  // namespace plait
