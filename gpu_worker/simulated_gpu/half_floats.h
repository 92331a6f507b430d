#pragma once

#include <cstdint>

namespace plait::simulated_gpu {

// Floats of 16 bits, by their bits: those of IEEE 754 and bfloat16. To float is exact; from there
// is to the nearest, ties to even, and what is no number becomes the canonical NaN.
float FromHalf(uint16_t bits);
uint16_t ToHalf(float a);
float FromBfloat(uint16_t bits);
uint16_t ToBfloat(float a);

}  // namespace plait::simulated_gpu
