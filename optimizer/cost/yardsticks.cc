#include "optimizer/cost/yardsticks.h"

#include <algorithm>
#include <cmath>

namespace plait {
namespace {

// 0 when a reading is missing.
double MeanRate(double before, double after) {
  return before > 0 && after > 0 ? (before + after) / 2 : 0;
}

double Drift(double before, double after) {
  return before > 0 && after > 0 ? std::abs(after / before - 1) : 0;
}

}  // namespace

Yardsticks YardsticksBetween(const Yardsticks& before, const Yardsticks& after) {
  return {
      .multiply_add_flops_per_us =
          MeanRate(before.multiply_add_flops_per_us, after.multiply_add_flops_per_us),
      .read_bytes_per_us = MeanRate(before.read_bytes_per_us, after.read_bytes_per_us),
      .drift = std::max(Drift(before.multiply_add_flops_per_us, after.multiply_add_flops_per_us),
                        Drift(before.read_bytes_per_us, after.read_bytes_per_us))};
}

}  // namespace plait
