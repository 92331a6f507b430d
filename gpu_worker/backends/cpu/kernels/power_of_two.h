#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

namespace plait {

// The power of two in a magnitude, to divide by without loss: at most 2^126, so that its inverse is
// no subnormal number, and of subnormal numbers the least one. Of 0 it is 0.
inline float PowerOfTwoIn(float magnitude) {
  if (magnitude == 0) return 0;
  int exponent = 0;
  std::frexp(std::max(magnitude, std::numeric_limits<float>::min()), &exponent);
  return std::ldexp(1.0f, std::min(exponent - 1, 126));
}

// 1 / power; of 0 it is 0 too, so that what is divided and multiplied again stays 0.
inline float InverseOf(float power) { return power == 0 ? 0 : 1 / power; }

}  // namespace plait
