#pragma once

#include <utility>
#include <vector>

#include "gpu_worker/backends/cpu/microkernel/microkernel.h"

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
// The rows are one or two pieces, rows of a matrix or pixels of an image at equal distances each.
// The depth goes by in steps of 64: a block is some steps whose digits stay in the first cache
// while all levels read them, and is repeated. So the rows of a matrix of depth 768 take blocks of
// the steps {0, 64, 128}, four times, 192 bytes further each; and a convolution of 3 by 3 pixels of
// 128 channels takes blocks of three pixels beside each other, three times, a row of pixels further
// each, and all that twice, 64 channels further.
struct DigitTile {
  int rows[2] = {16, 0};  // of each piece, up to 16; of the second 0: there is none
  int columns = 1;        // 1 to 32
  int planes = 3;         // 2 or 3 digits of each number
  int products = 6;       // 3 of two planes, 6 or 8 of three

  // Plane p of a piece's row m at step s begins at
  // p * left_plane_bytes + m * left_row_bytes + block_steps[s] behind the block's begin.
  int32_t left_row_bytes = 0;
  int32_t left_plane_bytes = 0;
  std::vector<int32_t> block_steps = {0};
  struct Repeat {
    int count = 1;
    int32_t left_bytes = 0;  // from one begin to the next
  };
  std::vector<Repeat> repeats;      // of the block, the innermost first; at most two
  std::vector<int32_t> last_steps;  // a last block behind all of them; may be empty

  // Bytes of the other stream of `right` that are called into the second cache for each step; 0:
  // none.
  int32_t prefetch_bytes_per_step = 0;
};

// The pieces of `left`, `right`, the sums, and what is prefetched if anything is. A second piece
// that is not there is not read.
enum class DigitPointer : uint8_t { kLeft, kSecondLeft, kRight, kSums, kPrefetched };

// Makes the tile's steps those of a matrix whose rows have `depth` digits, a multiple of 64.
void SetDepth(DigitTile& tile, int64_t depth);

// All of them: `right` has 64 rows for each.
int64_t DigitSteps(const DigitTile& tile);

// The levels of a product, the weightiest first, each with the planes of `left` and `right` that
// are multiplied. REQUIRES: products is 3, 6 or 8.
std::vector<std::vector<std::pair<int, int>>> DigitLevels(int products);

// Tiles of 16 columns.
int ColumnTiles(const DigitTile& tile);

// Where digit (k, n) of a plane of `right` lies, in bytes, k counting along the steps in the order
// in which they go by: [step][plane][column tile][16 x 4 of k][16 of n][4 of k], which is how AMX
// reads.
int64_t RightDigitOffset(const DigitTile& tile, int plane, int64_t k, int n);
// The same for whoever asks for each digit: `column_tiles` is ColumnTiles of the tile.
inline int64_t RightDigitOffset(int planes, int column_tiles, int plane, int64_t k, int n) {
  const int64_t step = k / 64 * planes + plane;
  return (step * column_tiles + n / 16) * 1024 + k % 64 / 4 * 64 + int64_t{n % 16} * 4 + k % 4;
}
// All of `right`.
int64_t RightBytes(const DigitTile& tile);

// The sums, int32 numbers, lie as [level][piece][column tile][16][16].
int64_t LevelNumbers(const DigitTile& tile);
int64_t SumOffset(const DigitTile& tile, int level, int piece, int m, int n);
int64_t SumCount(const DigitTile& tile);

// Writes the tile's list. All sums are written, none is read before.
// A level adds up at most 3 products of up to 2^14 for each number of the depth, which 2^31 holds
// up to a depth of 43,690; beyond that sums may wrap around, and the caller takes another kernel.
// REQUIRES: numbers within the limits above.
Microkernel DigitMicrokernel(const DigitTile& tile);

}  // namespace plait
