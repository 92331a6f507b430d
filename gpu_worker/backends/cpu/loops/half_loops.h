#pragma once

#include <cstdint>

namespace plait {

// The inner loops over floats of 16 bits, a part of LoopTable (see loops.h): those of float16 at 0,
// of bfloat16 at 1.
struct HalfLoops {
  using Widen = void (*)(const uint16_t* x, float* y, int64_t size);
  using Narrow = void (*)(const float* x, uint16_t* y, int64_t size);

  // Every one of them is a float.
  Widen widen[2];
  // The nearest one, of two nearest the even one; what lies beyond them all is infinite. A NaN
  // stays one.
  Narrow narrow[2];
};

}  // namespace plait
