#pragma once

#include "gpu_worker/backends/cpu/microkernel/microkernel.h"
#include "gpu_worker/backends/cpu/microkernel/plane_tile.h"

namespace plait {

// A tile of a product of numbers in planes of bf16: x = b1 + b2 + b3, each the bf16 nearest to what
// is left, which has eight bits of it. AMX multiplies bf16 exactly and adds up in fp32, some six
// times as fast as it multiplies floats; so all products of planes go into the same sums:
//   x1: b1 b1                            about 2^-8 of a product is lost
//   x3: b1 b2 + b2 b1, then b1 b1        about 2^-16
//   x6: b1 b3 + b2 b2 + b3 b1, then x3   as of fp32 numbers: 24 bits are in three planes
// (G. Henry, P. Tang and A. Heinecke, Leveraging the bfloat16 artificial intelligence datatype for
// higher-precision computations, 2019.) At each step the small products go first.
//
// There are no scales: a bf16 has the range of a float. But AMX takes denormal numbers for zeros:
// of a number below 2^-110 planes are lost, below 2^-126 all of it, and a sum below 2^-126 is 0.
// With an infinity or a NaN among the numbers no sum is finite, though not always the right one: b2
// of an infinity is a NaN. Numbers near the end of the range may give such sums, too. Whoever has
// the tile computed multiplies those again, as fp32 numbers.
//
// A step is 32 numbers.

// Where number (k, n) of a plane of `right` lies, in bytes, k counting along the steps in the order
// in which they go by: [step][plane][column tile][16 x 2 of k][16 of n][2 of k], which is how AMX
// reads. `column_tiles` is ColumnTiles of the tile.
inline int64_t RightBf16Offset(int planes, int column_tiles, int plane, int64_t k, int n) {
  const int64_t step = k / 32 * planes + plane;
  return (step * column_tiles + n / 16) * 1024 + k % 32 / 2 * 64 + int64_t{n % 16} * 4 + k % 2 * 2;
}

// The sums are floats, of one level (see SumOffset), LevelNumbers in all.

// Writes the tile's list. All sums are written, none is read before.
// REQUIRES: IsPlaneTile; 1 product of one plane, 3 of two or 6 of three.
Microkernel Bf16Microkernel(const PlaneTile& tile);

}  // namespace plait
