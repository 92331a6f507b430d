#pragma once

#include <cstdint>

namespace plait::simulated_gpu {

// Floats of 16 bits, by their bits: those of IEEE 754 and bfloat16. To float is exact; from there
// is to the nearest, ties to even, and what is no number becomes the canonical NaN.
float FromHalf(uint16_t bits);
uint16_t ToHalf(float a);
float FromBfloat(uint16_t bits);
uint16_t ToBfloat(float a);

// To the 10 bits of mantissa that TF32 keeps: to the nearest, ties away from zero.
float RoundToTf32(float a);

}  // namespace plait::simulated_gpu
