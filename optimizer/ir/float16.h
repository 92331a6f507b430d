#pragma once

#include <cstdint>

// The two 16-bit floats in software, because not every processor converts them. binary16 has 5 bits
// of exponent and 10 of fraction (largest value 65504), bfloat16 has float32's 8 and only 7.
namespace plait {

// The value of an IEEE 754 binary16 or of a bfloat16 (the upper half of a float32). Exact; the
// payload of a NaN is kept.
double Float16ToDouble(uint16_t bits);
double Bfloat16ToDouble(uint16_t bits);

// The nearest representable value, ties to even; infinity beyond the largest one. Rounds once, so
// the result is right for every double. The upper bits of a NaN's payload are kept, and it stays a
// NaN.
uint16_t DoubleToFloat16(double value);
uint16_t DoubleToBfloat16(double value);

}  // namespace plait
