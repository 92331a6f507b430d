#pragma once

#include <utility>
#include <vector>

#include "gpu_worker/backends/cpu/microkernel/microkernel.h"

namespace plait {

// A tile of a product of numbers that are written in digits: x = s (d0 + d1 / 254 + d2 / 254^2),
// with digits from -127 to 127 in bytes, and one scale s per row of `left` and per column of
// `right`. Products of digits of equal weight are added up exactly in int32, on AMX, which
// multiplies bytes twelve times as fast as floats; the sums of the levels are joined in fp32 by
// whoever has the tile computed:
//   left * right = sl sr (level0 + level1 / 254 + level2 / 254^2 + ...)
// Three planes and six products are as exact as a product of fp32 numbers (K. Ozaki et al.,
// Error-free transformations of matrix multiplication, 2012; on integer units H. Ootomo et al.,
// 2024).
struct DigitTile {
  int rows = 1;         // 1 to 32
  int columns = 1;      // 1 to 32
  int64_t depth = 64;   // a multiple of 64, at most 2^17: rows are padded with zeros
  int planes = 3;       // 2 or 3 digits of each number
  int products = 6;     // 3 of two planes, 6 or 8 of three
  int block_steps = 3;  // of 64: the digits of so many stay in the first cache for all levels
  // Plane p of row m begins at p * left_plane_bytes + m * left_row_bytes.
  int32_t left_row_bytes = 0;
  int32_t left_plane_bytes = 0;
  // Bytes of the other stream of `right` that are called into the second cache for each step; 0:
  // none.
  int32_t prefetch_bytes_per_step = 0;
};

// Left, right, sums, and prefetched if there is one.
enum class DigitPointer : uint8_t { kLeft, kRight, kSums, kPrefetched };

// The levels of a product, the weightiest first, each with the planes of `left` and `right` that
// are multiplied. REQUIRES: products is 3, 6 or 8.
std::vector<std::vector<std::pair<int, int>>> DigitLevels(int products);

// Tiles of 16 columns.
int ColumnTiles(const DigitTile& tile);

// Where digit (k, n) of a plane of `right` lies, in bytes: [depth / 64][plane][column tile][16 x 4
// of k][16 of n][4 of k], which is the order in which AMX reads.
int64_t RightDigitOffset(const DigitTile& tile, int plane, int64_t k, int n);
// All of `right`.
int64_t RightBytes(const DigitTile& tile);

// Where the sum of row m and column n of a level lies among the sums, in int32 numbers:
// [level][row tile][column tile][16][16].
int64_t SumOffset(const DigitTile& tile, int level, int m, int n);
int64_t SumCount(const DigitTile& tile);

// Writes the tile's list. All sums are written, none is read before.
// A level adds up at most 3 * depth products below 2^14, which 2^31 holds up to a depth of 43,690;
// beyond that sums may wrap around, and the caller takes another kernel.
// REQUIRES: numbers within the limits above.
Microkernel DigitMicrokernel(const DigitTile& tile);

}  // namespace plait
