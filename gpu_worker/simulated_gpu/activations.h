#pragma once

#include <algorithm>
#include <cmath>

namespace plait::simulated_gpu {

// The functions that libraries fuse behind a product, in double. Where no other is asked for, a
// ReLU of what is no number is its bound, as fmax has it.
inline double Relu(double x) { return std::fmax(x, 0.0); }
inline double Sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
inline double GeluErf(double x) { return 0.5 * x * (1 + std::erf(x * std::sqrt(0.5))); }
inline double GeluTanh(double x) {
  constexpr double kSqrtTwoOverPi = 0.79788456080286535588;
  return 0.5 * x * (1 + std::tanh(kSqrtTwoOverPi * (x + 0.044715 * x * x * x)));
}

}  // namespace plait::simulated_gpu
