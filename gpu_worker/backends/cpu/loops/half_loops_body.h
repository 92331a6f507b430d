// The loops over floats of 16 bits, a part of loops_body.h: see there for how they are compiled and
// written. Bits alone, so that no instruction set needs conversions of its own.

#include "gpu_worker/backends/cpu/loops/half_loops.h"

namespace plait {
namespace {

constexpr uint32_t kSignOfFloat = 0x80000000;
constexpr uint32_t kInfinityOfFloat = 0x7f800000;

// Exponents are 112 less than a float's, and the mantissa has 13 bits less. A subnormal number is
// a whole number of 2^-24.
inline float FloatOfFloat16(uint16_t half) {
  const uint32_t magnitude = half & 0x7fff;
  const uint32_t moved = (magnitude << 13) + (112u << 23);
  const uint32_t special = moved + (112u << 23);  // infinities and NaNs
  const float tiny = static_cast<float>(static_cast<int32_t>(magnitude)) * 0x1p-24f;
  uint32_t bits = magnitude < 0x0400 ? __builtin_bit_cast(uint32_t, tiny) : moved;
  bits = magnitude >= 0x7c00 ? special : bits;
  return __builtin_bit_cast(float, bits | uint32_t(half & 0x8000) << 16);
}

// Half of the last place less one is added, and one more where the last place is odd; a carry
// raises the exponent, up to infinity. To what is below 2^-14 adding 1/2, whose last place is
// 2^-24, rounds it there.
inline uint16_t Float16OfFloat(float x) {
  const uint32_t bits = __builtin_bit_cast(uint32_t, x);
  const uint32_t magnitude = bits & ~kSignOfFloat;
  constexpr uint32_t kBeyond = 0x47800000;  // 2^16
  const uint32_t bounded = magnitude < kBeyond ? magnitude : kBeyond;
  const uint32_t moved = (bounded + 0xfff + (bounded >> 13 & 1) - (112u << 23)) >> 13;
  const float raised = __builtin_bit_cast(float, bounded) + 0.5f;
  const uint32_t tiny = __builtin_bit_cast(uint32_t, raised) - 0x3f000000;
  uint32_t half = magnitude < 0x38800000 ? tiny : moved;
  half = magnitude > kInfinityOfFloat ? 0x7e00 | (magnitude >> 13 & 0x3ff) : half;
  return static_cast<uint16_t>(half | (bits & kSignOfFloat) >> 16);
}

inline float FloatOfBfloat16(uint16_t half) {
  return __builtin_bit_cast(float, uint32_t(half) << 16);
}

inline uint16_t Bfloat16OfFloat(float x) {
  const uint32_t bits = __builtin_bit_cast(uint32_t, x);
  const uint32_t half = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
  const bool is_nan = (bits & ~kSignOfFloat) > kInfinityOfFloat;
  return static_cast<uint16_t>(is_nan ? bits >> 16 | 0x40 : half);
}

void WidenFloat16(const uint16_t* x, float* y, int64_t size) {
#pragma omp simd
  for (int64_t i = 0; i < size; ++i) y[i] = FloatOfFloat16(x[i]);
}

void WidenBfloat16(const uint16_t* x, float* y, int64_t size) {
#pragma omp simd
  for (int64_t i = 0; i < size; ++i) y[i] = FloatOfBfloat16(x[i]);
}

void NarrowToFloat16(const float* x, uint16_t* y, int64_t size) {
#pragma omp simd
  for (int64_t i = 0; i < size; ++i) y[i] = Float16OfFloat(x[i]);
}

void NarrowToBfloat16(const float* x, uint16_t* y, int64_t size) {
#pragma omp simd
  for (int64_t i = 0; i < size; ++i) y[i] = Bfloat16OfFloat(x[i]);
}

constexpr HalfLoops kHalfLoops = {.widen = {WidenFloat16, WidenBfloat16},
                                  .narrow = {NarrowToFloat16, NarrowToBfloat16}};

}  // namespace
}  // namespace plait
