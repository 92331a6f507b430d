#pragma once

#include <cmath>
#include <cstdint>

namespace plait {

// Mean and biased variance of `count` neighbours, in two passes, because one pass cancels.
struct MeanVariance {
  double mean = 0;
  double variance = 0;

  MeanVariance(const double* values, int64_t count) {
    for (int64_t i = 0; i < count; ++i) mean += values[i];
    mean /= static_cast<double>(count);
    for (int64_t i = 0; i < count; ++i) variance += (values[i] - mean) * (values[i] - mean);
    variance /= static_cast<double>(count);
  }
};

}  // namespace plait
