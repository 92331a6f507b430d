#pragma once

#include <cmath>
#include <cstdint>

namespace plait {

// Mean and biased variance (the squares are divided by `count`, not by count - 1, as every
// normalization does it) of `count` neighbours. In two passes: the one-pass form, the mean of the
// squares minus the square of the mean, cancels where the mean is large beside the deviation.
// In doubles, whatever the tensor's type: the reference of float16 must not sum in float16.
struct MeanVariance {
  double mean = 0;
  double variance = 0;

  // REQUIRES: count > 0.
  MeanVariance(const double* values, int64_t count) {
    for (int64_t i = 0; i < count; ++i) mean += values[i];
    mean /= static_cast<double>(count);
    for (int64_t i = 0; i < count; ++i) variance += (values[i] - mean) * (values[i] - mean);
    variance /= static_cast<double>(count);
  }
};

}  // namespace plait
