#pragma once

#include <cstddef>
#include <cstdint>

namespace plait {

// The inner loops between floats, integers of 64 bits and truths, and what integers are in memory:
// a part of LoopTable (see loops.h). Operand and result do not overlap.

struct ConversionLoops {
  // Toward zero; what is outside of the bounds becomes the nearer one, and a NaN 0. The first is
  // the faster one, for bounds that fit.
  void (*to_integers)(const float* x, int64_t size, int32_t lowest, int32_t highest, int64_t* y);
  void (*to_long_integers)(const float* x, int64_t size, int64_t lowest, int64_t highest,
                           int64_t* y);
  // The nearest; of two the even one.
  void (*to_floats)(const int64_t* x, int64_t size, float* y);
  // As 0 or 1, whether x is anything but 0, as a NaN is; no number; or one of two numbers, of which
  // a NaN is none.
  void (*to_truths)(const float* x, int64_t size, int64_t* y);
  void (*are_nan)(const float* x, int64_t size, int64_t* y);
  void (*are_either)(const float* x, int64_t size, float a, float b, int64_t* y);
  // Integers in memory, of 1, 2 and 4 bytes: unsigned ones and signed ones to 64 bits, and the low
  // bits of such. REQUIRES: the memory is aligned to the integers.
  void (*widen[2][3])(const std::byte* x, int64_t size, int64_t* y);
  void (*narrow[3])(const int64_t* x, int64_t size, std::byte* y);
};

}  // namespace plait
