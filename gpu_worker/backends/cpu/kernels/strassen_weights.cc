#include "gpu_worker/backends/cpu/kernels/strassen_weights.h"

#include <algorithm>
#include <atomic>
#include <cmath>

#include "absl/base/casts.h"
#include "base/status_macros.h"
#include "gpu_worker/backends/cpu/kernels/power_of_two.h"
#include "gpu_worker/backends/cpu/loops/loops.h"
#include "gpu_worker/backends/cpu/team/team.h"

namespace plait {
namespace {

// Sums of so many products each are added up one after the other: a long sum of halves would lose
// twice what a serial sum of the whole row does.
constexpr int64_t kStrassenPartDepth = 64;

// The products whose right sides are one quarter each.
constexpr int kOf00 = 1;
constexpr int kOf11 = 4;

// The right side of a product: a quarter, and another that is added or subtracted.
struct RightSide {
  struct Quarter {
    int row;
    int column;
    float sign = 1;  // 0: there is none
  };
  Quarter first;
  Quarter other = {0, 0, 0};
};
constexpr RightSide kRightSides[kStrassenProducts] = {
    {{0, 0}, {1, 1}}, {{0, 0}},         {{0, 1}, {1, 1, -1}}, {{1, 0}, {0, 0, -1}},
    {{1, 1}},         {{0, 0}, {0, 1}}, {{1, 0}, {1, 1}}};

// By the exponents, which are all ones in infinities and NaNs.
bool AreFinite(const float* values, int64_t count) {
  constexpr uint32_t kExponent = 0x7f800000;
  uint32_t largest = 0;
  for (int64_t i = 0; i < count; ++i) {
    largest = std::max(largest, absl::bit_cast<uint32_t>(values[i]) & kExponent);
  }
  return largest < kExponent;
}

Fingerprint StrassenForm(const ConstantProduct& shape) {
  return FingerprintBuilder()
      .Add("strassen")
      .Add(shape.depth)
      .Add(shape.columns)
      .Add(shape.right_row_floats)
      .Add(shape.right_column_floats)
      .Finish();
}

}  // namespace

// The matrix, each column divided.
struct StrassenWeights::Divided {
  const StrassenWeights& weights;
  const ConstantProduct& shape;
  const float* right;

  // Writes sign times numbers of a quarter's row, from column n on, or adds them.
  void Read(const RightSide::Quarter& quarter, int64_t k, int64_t n, int64_t count, float* to,
            bool adds) const {
    k += quarter.row * weights.half_depth_;
    n += quarter.column * weights.half_columns_;
    const float* const numbers = right + k * shape.right_row_floats + n * shape.right_column_floats;
    const float* const inverses = weights.inverses_ + n;
    const int64_t stride = shape.right_column_floats;
    // Apart, because each is as fast as memory where the compiler knows the stride.
    if (stride == 1) {
      ReadRow<1>(numbers, 1, inverses, quarter.sign, count, to, adds);
    } else {
      ReadRow<0>(numbers, stride, inverses, quarter.sign, count, to, adds);
    }
  }

 private:
  template <int kStride>
  static void ReadRow(const float* numbers, int64_t stride, const float* inverses, float sign,
                      int64_t count, float* to, bool adds) {
    for (int64_t i = 0; i < count; ++i) {
      const float number = numbers[kStride == 0 ? i * stride : i * kStride] * inverses[i] * sign;
      to[i] = adds ? to[i] + number : number;
    }
  }
};

absl::StatusOr<StrassenWeights> StrassenWeights::Load(LoadContext* context,
                                                      const ConstantProduct& shape, TensorId right,
                                                      const float* bias, int64_t blocks_together) {
  PLAIT_ASSIGN_OR_RETURN(const Tensor values, context->ConstantValue(right));
  const auto* const numbers = reinterpret_cast<const float*>(values.bytes().data());
  StrassenWeights weights;
  weights.half_depth_ = shape.depth / 2;
  weights.half_columns_ = shape.columns / 2;
  const Divided divided = {weights, shape, numbers};
  PLAIT_RETURN_IF_ERROR(weights.LoadBias(context, shape.columns, bias));
  PLAIT_ASSIGN_OR_RETURN(const bool is_packed, weights.Allocate(context, shape, right));
  if (!is_packed) {
    weights.FindFactors(context->width(), shape, numbers);
    weights.KeepQuarters(context->width(), divided);
  }
  std::atomic<bool> are_finite = true;
  const auto read = [&](int64_t matrix, int64_t k, int64_t column, int64_t count, float* to) {
    const auto& [first, other] = kRightSides[matrix];
    divided.Read(first, k, column, count, to, /*adds=*/false);
    if (other.sign != 0) divided.Read(other, k, column, count, to, /*adds=*/true);
    if (!AreFinite(to, count)) are_finite = false;
  };
  PLAIT_ASSIGN_OR_RETURN(weights.product_, FmaProduct::LoadRead(context,
                                                                {.rows = (shape.rows + 1) / 2,
                                                                 .depth = weights.half_depth_,
                                                                 .columns = weights.half_columns_},
                                                                {.matrices = kStrassenProducts,
                                                                 .part_depth = kStrassenPartDepth,
                                                                 .blocks_together = blocks_together,
                                                                 .made_of = right,
                                                                 .made_how = StrassenForm(shape)},
                                                                read));
  if (!are_finite) return context->Refuse();
  return weights;
}

absl::StatusOr<bool> StrassenWeights::Allocate(LoadContext* context, const ConstantProduct& shape,
                                               TensorId right) {
  const int64_t quarter = half_depth_ * half_columns_;
  PLAIT_ASSIGN_OR_RETURN(
      const SharingExecutable::Place place,
      context->AllocatePackedOf(right, (2 * shape.columns + 2 * quarter) * sizeof(float),
                                StrassenForm(shape)));
  factors_ = reinterpret_cast<float*>(place.data);
  inverses_ = factors_ + shape.columns;
  kept01_ = inverses_ + shape.columns;
  kept10_ = kept01_ + quarter;
  return place.is_packed;
}

// Apart, since it is no part of the matrix.
absl::Status StrassenWeights::LoadBias(LoadContext* context, int64_t columns, const float* bias) {
  const Fingerprint form = FingerprintBuilder().Add("strassen bias").Finish();
  PLAIT_ASSIGN_OR_RETURN(const SharingExecutable::Place place,
                         context->AllocatePacked(columns * sizeof(float), form));
  bias_ = reinterpret_cast<float*>(place.data);
  for (int64_t n = 0; n < (place.is_packed ? 0 : columns); ++n) {
    bias_[n] = bias == nullptr ? 0 : bias[n];
  }
  return absl::OkStatus();
}

void StrassenWeights::FindFactors(int threads, const ConstantProduct& shape, const float* right) {
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
    }
  });
}

void StrassenWeights::KeepQuarters(int threads, const Divided& divided) {
  ForEachPart(threads, half_depth_, [&](int64_t begin, int64_t end, int) {
    for (int64_t k = begin; k < end; ++k) {
      divided.Read({0, 1}, k, 0, half_columns_, kept01_ + k * half_columns_, /*adds=*/false);
      divided.Read({1, 0}, k, 0, half_columns_, kept10_ + k * half_columns_, /*adds=*/false);
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
