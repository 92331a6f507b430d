#include "gpu_worker/backends/cpu/kernels/strassen_weights.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <vector>

#include "base/status_macros.h"
#include "gpu_worker/backends/cpu/kernels/power_of_two.h"
#include "gpu_worker/backends/cpu/loops/loops.h"
#include "gpu_worker/backends/cpu/team/team.h"

namespace plait {
namespace {

// Sums of so many products each are added up one after the other: a long sum of halves would lose
// twice what a serial sum of the whole row does.
constexpr int64_t kPartDepth = 64;

// The products whose right sides are one quarter each.
constexpr int kOf00 = 1;
constexpr int kOf11 = 4;

// A number of each quarter.
struct Quarters {
  float b00, b01, b10, b11;

  // The right side of each product; false where one is not finite.
  bool WriteSums(float* to, int64_t matrix_floats) const {
    const float sums[kStrassenProducts] = {b00 + b11, b00,       b01 - b11, b10 - b00,
                                           b11,       b00 + b01, b10 + b11};
    bool are_finite = true;
    for (const float sum : sums) {
      are_finite &= std::isfinite(sum);
      *to = sum;
      to += matrix_floats;
    }
    return are_finite;
  }
};

}  // namespace

absl::StatusOr<StrassenWeights> StrassenWeights::Load(LoadContext* context,
                                                      const ConstantProduct& shape,
                                                      const float* right, const float* bias,
                                                      int64_t blocks_together) {
  StrassenWeights weights;
  weights.half_depth_ = shape.depth / 2;
  weights.half_columns_ = shape.columns / 2;
  PLAIT_RETURN_IF_ERROR(weights.Allocate(context, shape));
  weights.FindFactors(shape, right, bias);
  const int64_t depth = weights.half_depth_;
  const int64_t columns = weights.half_columns_;
  std::vector<float> sums(kStrassenProducts * depth * columns);
  std::atomic<bool> are_finite = true;
  ForEachPart(context->width(), depth, [&](int64_t begin, int64_t end, int) {
    for (int64_t k = begin; k < end; ++k) {
      for (int64_t n = 0; n < columns; ++n) {
        const auto at = [&](int64_t row, int64_t column) {
          return right[row * shape.right_row_floats + column * shape.right_column_floats] *
                 InverseOf(weights.factors_[column]);
        };
        const Quarters b = {at(k, n), at(k, n + columns), at(k + depth, n),
                            at(k + depth, n + columns)};
        weights.kept01_[k * columns + n] = b.b01;
        weights.kept10_[k * columns + n] = b.b10;
        if (!b.WriteSums(sums.data() + k * columns + n, depth * columns)) are_finite = false;
      }
    }
  });
  if (!are_finite) return context->Refuse();
  PLAIT_ASSIGN_OR_RETURN(weights.product_, FmaProduct::Load(context,
                                                            {.rows = (shape.rows + 1) / 2,
                                                             .depth = depth,
                                                             .columns = columns,
                                                             .right_row_floats = columns,
                                                             .right_column_floats = 1},
                                                            {.right = sums.data(),
                                                             .matrices = kStrassenProducts,
                                                             .matrix_floats = depth * columns,
                                                             .part_depth = kPartDepth,
                                                             .blocks_together = blocks_together}));
  return weights;
}

absl::Status StrassenWeights::Allocate(LoadContext* context, const ConstantProduct& shape) {
  const int64_t quarter = half_depth_ * half_columns_;
  PLAIT_ASSIGN_OR_RETURN(std::byte* const memory,
                         context->AllocateWeights((2 * shape.columns + 2 * quarter) * 4));
  factors_ = reinterpret_cast<float*>(memory);
  bias_ = factors_ + shape.columns;
  kept01_ = bias_ + shape.columns;
  kept10_ = kept01_ + quarter;
  return absl::OkStatus();
}

void StrassenWeights::FindFactors(const ConstantProduct& shape, const float* right,
                                  const float* bias) {
  std::fill_n(factors_, shape.columns, 0.0f);
  for (int64_t k = 0; k < shape.depth; ++k) {
    for (int64_t n = 0; n < shape.columns; ++n) {
      const float number = right[k * shape.right_row_floats + n * shape.right_column_floats];
      factors_[n] = std::max(factors_[n], std::abs(number));
    }
  }
  for (int64_t n = 0; n < shape.columns; ++n) {
    factors_[n] = PowerOfTwoIn(factors_[n]);
    bias_[n] = bias == nullptr ? 0 : bias[n];
  }
}

void StrassenWeights::AddNumber(float x, int64_t k, int64_t column, int64_t count,
                                float* const (&y)[2]) const {
  const bool is_upper = k < half_depth_;
  const int64_t row = is_upper ? k : k - half_depth_;
  for (int64_t i = 0; i < count; ++i) {
    const int64_t n = column + i;
    const float left = is_upper ? At(kOf00, row, n) : kept10_[row * half_columns_ + n];
    const float right = is_upper ? kept01_[row * half_columns_ + n] : At(kOf11, row, n);
    y[0][i] += x * (left * factors_[n]);
    y[1][i] += x * (right * factors_[n + half_columns_]);
  }
}

}  // namespace plait
