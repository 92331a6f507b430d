#include "gpu_worker/simulated_gpu/half_floats.h"

#include <bit>
#include <cmath>
#include <limits>

namespace plait::simulated_gpu {

float FromHalf(uint16_t bits) {
  const int exponent = bits >> 10 & 31;
  const int mantissa = bits & 1023;
  float magnitude = 0;
  if (exponent == 31) {
    magnitude = mantissa == 0 ? std::numeric_limits<float>::infinity() : NAN;
  } else if (exponent == 0) {
    magnitude = std::ldexp(static_cast<float>(mantissa), -24);
  } else {
    magnitude = std::ldexp(static_cast<float>(mantissa + 1024), exponent - 25);
  }
  return (bits & 0x8000) != 0 ? -magnitude : magnitude;
}

uint16_t ToHalf(float a) {
  const uint16_t sign = std::signbit(a) ? 0x8000 : 0;
  const float magnitude = std::fabs(a);
  if (std::isnan(a)) return 0x7fff;
  if (magnitude >= 65520.0f) return sign | 0x7c00;  // half way between 65504 and 65536
  if (magnitude < 0x1p-14f) {
    return sign | static_cast<uint16_t>(std::rint(std::ldexp(magnitude, 24)));
  }
  const uint32_t bits = std::bit_cast<uint32_t>(magnitude);
  const uint32_t rounded = bits + 0xfff + (bits >> 13 & 1);
  return sign | static_cast<uint16_t>((rounded >> 13) - (uint32_t{112} << 10));
}

float FromBfloat(uint16_t bits) { return std::bit_cast<float>(uint32_t{bits} << 16); }

uint16_t ToBfloat(float a) {
  if (std::isnan(a)) return 0x7fff;
  const uint32_t bits = std::bit_cast<uint32_t>(a);
  return static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

float RoundToTf32(float a) {
  if (!std::isfinite(a)) return a;
  return std::bit_cast<float>((std::bit_cast<uint32_t>(a) + 0x1000u) & 0xffffe000u);
}

}  // namespace plait::simulated_gpu
