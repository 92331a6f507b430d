#pragma once

#include "gpu_worker/backends/cpu/microkernel/microkernel.h"

namespace plait {

// A tile of result[m, n] = sum over k of left[m, k] * right[k, n] in fp32, every sum in ascending k
// by multiply-adds that round once.
//
// The tile's sums stay in registers: 14 rows of two vectors of AVX-512, or 9 of three, are 28 or 27
// of 32 registers, and 6 rows of two of AVX2 12 of 15; the others hold the row of `right` and the
// broadcast element of `left`. Each of a step's 28 multiply-adds takes half a cycle, and its 16
// loads as long on two ports, so that the multiply-adds set the pace. (K. Goto and R. van de Geijn,
// Anatomy of High-Performance Matrix Multiplication, 2008.)
//
// Where up to 8 columns are left for a vector of AVX-512, half a one does for them: processors that
// multiply 512 bits in two halves take half the time for it.
struct FmaTile {
  int vector_floats = 16;
  int rows = 1;       // up to FmaRowsMax
  int columns = 1;    // up to FmaVectorsMax
  int64_t depth = 1;  // of the sum
  // Where it is positive, and less than `depth`, sums of so many products each are added up one
  // after the other, which loses less than one long sum: a multiple of 4.
  int64_t part_depth = 0;

  int32_t left_row_bytes = 0;    // from one row of `left` to the next
  int32_t right_row_bytes = 0;   // from one row of `right` to the next
  int32_t result_row_bytes = 0;  // of the result
  int32_t added_row_bytes = 0;   // of what is added to it

  bool has_bias = false;   // one float per column, where sums begin instead of at 0
  bool has_added = false;  // a tensor of the result's shape, added at the end
  bool has_relu = false;   // at the very end; a NaN stays one
  // Bytes of the other stream of `right` that are called into the second cache for each step: what
  // the next tiles will read, while this one computes. 0: none.
  int32_t prefetch_bytes_per_step = 0;
};

// In this order: left, right, result, then those that there are of bias, added and prefetched.
enum class FmaPointer : uint8_t { kLeft, kRight, kResult, kOthers };

// The most vectors of a row of a tile, and the most rows of so many whose sums fit into the
// registers.
constexpr int FmaVectorsMax(int vector_floats) { return vector_floats == 16 ? 3 : 2; }
constexpr int FmaRowsMax(int vector_floats, int vectors) {
  if (vector_floats != 16) return 6;
  return vectors == 3 ? 9 : 14;
}

// Writes the tile's list. A whole vector of `right`, or half a one, is read also where fewer
// columns count: it is packed in whole vectors, the rest zeros. Bias, added and result have no byte
// read or written behind their columns.
// REQUIRES: numbers within the limits above, depth >= 1, and depth times each row below 2 GiB;
// where there is part_depth, neither bias nor added nor relu.
Microkernel FmaMicrokernel(const FmaTile& tile);

}  // namespace plait
