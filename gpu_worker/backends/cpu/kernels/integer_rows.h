#pragma once

#include "gpu_worker/backends/cpu/kernels/bytes.h"

namespace plait {

// Both sides of a product of integers as IntegerLoops::tile reads them: less their zero points, in
// pairs along the depth, which ends with a zero where it is odd.

inline int64_t PairsOf(int64_t depth) { return (depth + 1) / 2; }

// Columns of a tile; what is packed for them has zeros behind the last column.
inline int64_t IntegerBlockColumns() { return 2 * int64_t{Loops().vector_floats}; }
inline int64_t IntegerBlockNumbers(int64_t depth) {
  return PairsOf(depth) * 2 * IntegerBlockColumns();
}

// A row of the left side, of 2 * PairsOf(depth) numbers.
void WidenLeftRow(const uint8_t* row, int64_t depth, DataType dtype, int32_t zero_point,
                  int16_t* to);

// Rows of the left side that lie so many numbers apart, as a tile has them.
void SetLeftRows(const int16_t* first, int64_t row_numbers, int rows, IntegerTile* tile);

// A matrix of bytes on the right, [depth, columns].
struct RightBytes {
  const uint8_t* data = nullptr;
  DataType dtype = DataType::kUint8;
  int64_t depth = 0;
  int64_t columns = 0;
  ByteParameter zero_point;
};

// Packs one block of its columns to IntegerBlockNumbers(depth) numbers.
void PackRightBlock(const RightBytes& right, int64_t block, int16_t* to);

// What becomes of a row of sums.
struct SumsTarget {
  DataType dtype = DataType::kInt32;
  int32_t zero_point = 0;          // of bytes
  const float* factors = nullptr;  // of bytes, by column
  const int32_t* bias = nullptr;   // likewise; nullptr: none
  IntegerLimits limits;            // of bytes
};

// Writes `count` sums as int32 or as bytes.
void WriteSums(const SumsTarget& target, const int32_t* sums, int64_t count, std::byte* to);

}  // namespace plait
