#pragma once

#include <cstddef>
#include <cstdint>

namespace plait {

struct PlaneRows;

// The inner loops over numbers in planes of bf16, a part of LoopTable (see loops.h): x = b1 + b2
// + b3, each the bf16 nearest to what is left, of two nearest ones the even one.

// A piece of a tile of a product: y[m, n] = sums[m, n] + bias[n].
struct Bf16Sums {
  const float* sums;  // [columns / 16][16][16], rounded up
  int rows;           // at most 16
  int columns;
  const float* bias;  // nullptr: none
  float* y;
  int64_t y_row_floats;  // from one row of y to the next
};

// y[n] += x * (b1 + b2 + b3)[n] for the columns of a block (see RightBf16Offset).
struct Bf16Number {
  float x;
  const std::byte* pairs;  // of the two places around it: [plane][columns / 16][16 x 64]
  int place;               // of the two
  int planes;
  int columns;
  float* y;
};

struct Bf16Loops {
  // Writes as many planes as are wanted. No finite number becomes infinite. Of an infinity or a NaN
  // the first plane is that, and the others are NaNs.
  void (*split_rows)(const PlaneRows& rows);
  // Whether all sums were finite.
  bool (*join_sums)(const Bf16Sums& tile);
  void (*add_number)(const Bf16Number& number);
};

}  // namespace plait
