#pragma once

#include <cstdint>

namespace plait {

// The inner loops over integers of 8 bits, a part of LoopTable (see loops.h).

// A tile of a product of integers, each of 9 bits and so exact in sums of int32 (modulo 2^32).
// sums[m, n] = the sum over k of left[m, k] * right[k, n], of two vectors of columns, where two
// numbers of the depth lie together: left as [row][pair][2], right as [pair][column][2].
constexpr int kIntegerTileRowsMax = 6;
struct IntegerTile {
  const int16_t* left;
  int64_t left_row_numbers;  // from one row to the next
  int rows;                  // at most kIntegerTileRowsMax
  const int16_t* right;
  int64_t pairs;
  int32_t* sums;
  int64_t sums_row_numbers;
};

// The bytes that stand for numbers; those below 0 are written as they are in memory.
struct ByteRange {
  int32_t lowest;  // 0 or -128
  int32_t highest;
  int32_t zero_point;
};

struct IntegerLoops {
  void (*tile)(const IntegerTile& tile);
  // y = saturate(round(x / scale) + zero point), of two nearest integers the even one; NaN is the
  // lowest.
  void (*quantize)(const float* x, int64_t size, float scale, const ByteRange& range, uint8_t* y);
  // The same of sums[i] * factors[i].
  void (*requantize)(const int32_t* sums, const float* factors, int64_t size,
                     const ByteRange& range, uint8_t* y);
  // y = (x - zero point) * scale, of bytes and of signed bytes.
  void (*dequantize[2])(const uint8_t* x, int64_t size, float scale, int32_t zero_point, float* y);
  // y = x - zero point, likewise.
  void (*widen[2])(const uint8_t* x, int64_t size, int32_t zero_point, int16_t* y);
};

}  // namespace plait
