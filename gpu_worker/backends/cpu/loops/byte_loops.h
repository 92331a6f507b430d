#pragma once

#include <cstdint>

#include "gpu_worker/backends/cpu/loops/integer_loops.h"

namespace plait {

// Loops over bytes for processors that add up four products of bytes at once (VNNI of AVX-512):
// a side that has 0 to 255, and weights from -128 to 127. Sums are exact (modulo 2^32), so that the
// results are those of IntegerLoops, which widen both sides to 16 bits first.

// What becomes of a sum: saturate(round((sum + addend) * factor) + zero point), of two nearest
// integers the even one; NaN is the lowest. Both arrays are as long as what is computed, rounded up
// to whole vectors of 16 columns or blocks of 64 channels.
struct ByteResult {
  const int32_t* addends = nullptr;
  const float* factors = nullptr;  // nullptr, of tiles only: sums and addends are written as int32
  ByteRange range = {0, 255, 0};
};

constexpr int kByteTileRowsMax = 12;

// Bytes that are added to those of a tile, and what becomes of the sum: see IntegerLoops::add.
struct AddedBytes {
  const uint8_t* rows[kByteTileRowsMax] = {};  // of each row: where its first column is
  bool is_signed = false;
  ByteSum sum;
};

// A tile of a product: y[row][column] of rows that may lie anywhere, each in several segments,
// which lie alike in all rows. Of a segment four numbers of the depth lie together.
constexpr int kByteColumns = 16;  // of a vector
constexpr int kByteTileVectorsMax = 4;
struct ByteTile {
  uint8_t flip = 0;  // 0x80 where `left` has signed bytes, which is 128 more to the sums' left side
  const uint8_t* left[kByteTileRowsMax] = {};  // of each row
  uint8_t* y[kByteTileRowsMax] = {};           // likewise; aligned for int32 where that is written
  int rows = 0;                                // at most ByteTileRows(vectors)
  int vectors = 1;                             // at most kByteTileVectorsMax
  int columns = 0;                             // that are written, at most 16 * vectors
  const int8_t* right = nullptr;      // [segment][quad][column][4], of 16 * vectors columns
  int64_t quads = 0;                  // of a segment
  const int64_t* segments = nullptr;  // where each begins, in bytes from `left`
  int64_t segment_count = 1;
  ByteResult result;
  const AddedBytes* added = nullptr;  // nullptr: none; of tiles of bytes only
};

// As many rows as registers have sums for.
constexpr int ByteTileRows(int vectors) {
  constexpr int kRows[] = {0, 12, 12, 8, 6};
  return kRows[vectors];
}

// Consecutive pixels of a line of a depthwise convolution, for up to 64 channels, whose weights,
// addends and factors have the order in which bytes of four lines come to lie together
// (ByteChannelPlace).
constexpr int kByteBlockChannels = 64;
struct ByteDepthwise {
  uint8_t flip = 0;                       // see ByteTile
  const uint8_t* const* lines = nullptr;  // of the window: where it begins for the first pixel
  int64_t line_count = 0;
  int64_t columns = 0;                // of the window
  int64_t column_step = 0;            // from a column to the next, in bytes
  const int8_t* weights = nullptr;    // [four lines][column][place of a channel][4], 0 for no line
  int channels = kByteBlockChannels;  // at most
  ByteResult result;                  // by place
  int64_t pixels = 0;
  int64_t pixel_step = 0;  // from the window of a pixel to that of the next
  uint8_t* y = nullptr;    // by channel
  int64_t y_step = 0;
};

// Where a channel of a block has its weights, addend and factor.
constexpr int ByteChannelPlace(int channel) {
  return channel % 16 / 4 * 16 + channel / 16 * 4 + channel % 4;
}

struct ByteLoops {
  void (*tile)(const ByteTile& tile);
  void (*depthwise)(const ByteDepthwise& pixels);
};

// nullptr where the processor has no such instructions, or kernels may not use them
// (LimitInstructionSet). Thread-safe.
const ByteLoops* CurrentByteLoops();

}  // namespace plait
