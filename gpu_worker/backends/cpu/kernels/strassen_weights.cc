#include "gpu_worker/backends/cpu/kernels/strassen_weights.h"

#include <algorithm>
#include <atomic>
#include <cmath>

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

// The right side of a product: a quarter, and another that is added or subtracted.
struct RightSide {
  int row;
  int column;
  float sign = 0;  // of the other: 0: there is none
  int other_row = 0;
  int other_column = 0;
};
constexpr RightSide kRightSides[kStrassenProducts] = {{0, 0, 1, 1, 1},  {0, 0}, {0, 1, -1, 1, 1},
                                                      {1, 0, -1, 0, 0}, {1, 1}, {0, 0, 1, 0, 1},
                                                      {1, 0, 1, 1, 1}};

}  // namespace

// The matrix, each column divided.
struct StrassenWeights::Divided {
  const StrassenWeights& weights;
  const ConstantProduct& shape;
  const float* right;

  // A number of a quarter.
  float At(int row, int column, int64_t k, int64_t n) const {
    k += row * weights.half_depth_;
    n += column * weights.half_columns_;
    return right[k * shape.right_row_floats + n * shape.right_column_floats] * weights.inverses_[n];
  }
};

absl::StatusOr<StrassenWeights> StrassenWeights::Load(LoadContext* context,
                                                      const ConstantProduct& shape,
                                                      const float* right, const float* bias,
                                                      int64_t blocks_together) {
  StrassenWeights weights;
  weights.half_depth_ = shape.depth / 2;
  weights.half_columns_ = shape.columns / 2;
  PLAIT_RETURN_IF_ERROR(weights.Allocate(context, shape));
  weights.FindFactors(context->width(), shape, right, bias);
  const Divided divided = {weights, shape, right};
  weights.KeepQuarters(context->width(), divided);
  std::atomic<bool> are_finite = true;
  const auto read = [&](int64_t matrix, int64_t k, int64_t column, int64_t count, float* to) {
    const RightSide& side = kRightSides[matrix];
    for (int64_t i = 0; i < count; ++i) {
      to[i] = divided.At(side.row, side.column, k, column + i);
      if (side.sign != 0) {
        to[i] += side.sign * divided.At(side.other_row, side.other_column, k, column + i);
      }
      if (!std::isfinite(to[i])) are_finite = false;
    }
  };
  PLAIT_ASSIGN_OR_RETURN(weights.product_, FmaProduct::Load(context,
                                                            {.rows = (shape.rows + 1) / 2,
                                                             .depth = weights.half_depth_,
                                                             .columns = weights.half_columns_},
                                                            {.matrices = kStrassenProducts,
                                                             .part_depth = kPartDepth,
                                                             .blocks_together = blocks_together},
                                                            read));
  if (!are_finite) return context->Refuse();
  return weights;
}

absl::Status StrassenWeights::Allocate(LoadContext* context, const ConstantProduct& shape) {
  const int64_t quarter = half_depth_ * half_columns_;
  PLAIT_ASSIGN_OR_RETURN(std::byte* const memory,
                         context->AllocateWeights((3 * shape.columns + 2 * quarter) * 4));
  factors_ = reinterpret_cast<float*>(memory);
  inverses_ = factors_ + shape.columns;
  bias_ = inverses_ + shape.columns;
  kept01_ = bias_ + shape.columns;
  kept10_ = kept01_ + quarter;
  return absl::OkStatus();
}

void StrassenWeights::FindFactors(int threads, const ConstantProduct& shape, const float* right,
                                  const float* bias) {
  ForEachPart(threads, shape.columns, [&](int64_t begin, int64_t end, int) {
    std::fill(factors_ + begin, factors_ + end, 0.0f);
    for (int64_t k = 0; k < shape.depth; ++k) {
      for (int64_t n = begin; n < end; ++n) {
        const float number = right[k * shape.right_row_floats + n * shape.right_column_floats];
        factors_[n] = std::max(factors_[n], std::abs(number));
      }
    }
    for (int64_t n = begin; n < end; ++n) {
      factors_[n] = PowerOfTwoIn(factors_[n]);
      inverses_[n] = InverseOf(factors_[n]);
      bias_[n] = bias == nullptr ? 0 : bias[n];
    }
  });
}

void StrassenWeights::KeepQuarters(int threads, const Divided& divided) {
  ForEachPart(threads, half_depth_, [&](int64_t begin, int64_t end, int) {
    for (int64_t k = begin; k < end; ++k) {
      for (int64_t n = 0; n < half_columns_; ++n) {
        kept01_[k * half_columns_ + n] = divided.At(0, 1, k, n);
        kept10_[k * half_columns_ + n] = divided.At(1, 0, k, n);
      }
    }
  });
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
