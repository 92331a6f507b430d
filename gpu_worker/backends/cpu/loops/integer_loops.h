#pragma once

#include <cstdint>

namespace plait {

// The inner loops over integers of 8 bits, a part of LoopTable (see loops.h).

// A tile of a product of integers, each of 9 bits and so exact in sums of int32 (modulo 2^32).
// sums[m, n] = the sum over k of left[m, k] * right[k, n], of two vectors of columns, where two
// numbers of the depth lie together: left as [row][pair][2], right as [pair][column][2]. A row may
// be in several segments of as many pairs each, which lie alike in all rows.
constexpr int kIntegerTileRowsMax = 6;
struct IntegerTile {
  const int16_t* left[kIntegerTileRowsMax] = {};  // of each row
  int rows = 0;                                   // at most kIntegerTileRowsMax
  const int16_t* right = nullptr;
  int64_t pairs = 0;                  // of a segment
  const int64_t* segments = nullptr;  // where each begins, in numbers from `left`; nullptr: at 0
  int64_t segment_count = 1;
  int32_t* sums = nullptr;
  int64_t sums_row_numbers = 0;
};

// A pixel of a depthwise convolution of such integers: sums[c] = the sum over taps of x[tap][c] *
// weights[tap][c].
struct IntegerDepthwisePixel {
  const int16_t* x;
  const int64_t* taps;  // where the channels of each begin, in numbers from x
  int64_t tap_count;
  const int16_t* weights;
  int64_t channels;
  int32_t* sums;
};

// A pixel of a pool over bytes: y[c] of the x[tap][c], where there is at least one tap.
struct BytePixel {
  const uint8_t* x;
  const int64_t* taps;  // where the channels of each begin, in bytes from x
  int64_t tap_count;
  int64_t channels;
  uint8_t* y;
};

// The bytes that stand for numbers; those below 0 are written as they are in memory.
struct ByteRange {
  int32_t lowest;  // 0 or -128
  int32_t highest;
  int32_t zero_point;
};

// Two numbers that bytes stand for, added up: terms[0] of `a` and terms[1] of `b`.
struct ByteTerm {
  float scale = 1;
  int32_t zero_point = 0;
};
struct ByteSum {
  ByteTerm terms[2];
  float scale = 1;  // of the sum
  ByteRange range = {0, 255, 0};
};

struct IntegerLoops {
  void (*tile)(const IntegerTile& tile);
  void (*depthwise_pixel)(const IntegerDepthwisePixel& pixel);
  // y = saturate(round(x / scale) + zero point), of two nearest integers the even one; NaN is the
  // lowest.
  void (*quantize)(const float* x, int64_t size, float scale, ByteRange range, uint8_t* y);
  // The same of (sums[i] + bias[i]) * factors[i]; the bias may be nullptr.
  void (*requantize)(const int32_t* sums, const int32_t* bias, const float* factors, int64_t size,
                     ByteRange range, uint8_t* y);
  // y = (x - zero point) * scale, of bytes and of signed bytes.
  void (*dequantize[2])(const uint8_t* x, int64_t size, float scale, int32_t zero_point, float* y);
  // y = quantize(dequantize(a) + dequantize(b)), to the bit: by whether `a` and whether `b` has
  // signed bytes. y may be `a`.
  void (*add[2][2])(const uint8_t* a, const uint8_t* b, int64_t size, ByteSum sum, uint8_t* y);
  // The largest of a pixel's taps, of bytes and of signed bytes.
  void (*largest_pixel[2])(const BytePixel& pixel);
  // y = x - zero point, likewise.
  void (*widen[2])(const uint8_t* x, int64_t size, int32_t zero_point, int16_t* y);
};

}  // namespace plait
