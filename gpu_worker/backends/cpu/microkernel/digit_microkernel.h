#pragma once

#include "gpu_worker/backends/cpu/microkernel/microkernel.h"
#include "gpu_worker/backends/cpu/microkernel/plane_tile.h"

namespace plait {

// A tile of a product of numbers that are written in digits: x = s (d0 + d1 / 256 + d2 / 256^2),
// with digits from -128 to 127 in bytes, and one scale s per row of `left` and per column of
// `right`. Products of digits of equal weight are added up exactly in int32, on AMX, which
// multiplies bytes twelve times as fast as floats; the sums of the levels are joined in fp32 by
// whoever has the tile computed:
//   left * right = sl sr (level0 + level1 / 256 + level2 / 256^2 + ...)
// Three planes and six products are as exact as a product of fp32 numbers (K. Ozaki et al.,
// Error-free transformations of matrix multiplication, 2012; on integer units H. Ootomo et al.,
// 2024).
//
// A step is 64 digits. The digits of a block stay in the first cache while all levels read them.

// Where digit (k, n) of a plane of `right` lies, in bytes, k counting along the steps in the order
// in which they go by: [step][plane][column tile][16 x 4 of k][16 of n][4 of k], which is how AMX
// reads.
int64_t RightDigitOffset(const PlaneTile& tile, int plane, int64_t k, int n);
// The same for whoever asks for each digit: `column_tiles` is ColumnTiles of the tile.
inline int64_t RightDigitOffset(int planes, int column_tiles, int plane, int64_t k, int n) {
  const int64_t step = k / 64 * planes + plane;
  return (step * column_tiles + n / 16) * 1024 + k % 64 / 4 * 64 + int64_t{n % 16} * 4 + k % 4;
}

// The sums, int32 numbers, of all levels (see SumOffset).
int64_t DigitSumCount(const PlaneTile& tile);

// Writes the tile's list. All sums are written, none is read before.
// A level adds up at most 3 products of up to 2^14 for each number of the depth, which 2^31 holds
// up to a depth of 43,690; beyond that sums may wrap around, and the caller takes another kernel.
// REQUIRES: IsPlaneTile; 3 products of two planes, 6 or 8 of three.
Microkernel DigitMicrokernel(const PlaneTile& tile);

}  // namespace plait
