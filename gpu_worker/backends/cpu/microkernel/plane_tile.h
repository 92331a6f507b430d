#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace plait {

// A tile of a product of numbers that are written in planes: each number as a sum of two or three
// smaller ones of its own weight each, its digits or its parts, which AMX multiplies. The rows of
// `left` are one or two pieces, rows of a matrix or pixels of an image at equal distances each.
// The depth goes by in steps of 64 bytes of a row: a block is some steps, and is repeated. So the
// rows of a matrix of 768 bytes take blocks of the steps {0, 64, 128}, four times, 192 bytes
// further each; and a convolution of 3 by 3 pixels of 128 bytes takes blocks of three pixels beside
// each other, three times, a row of pixels further each, and all that twice, 64 bytes further.
struct PlaneTile {
  int rows[2] = {16, 0};  // of each piece, up to 16; of the second 0: there is none
  int columns = 1;        // 1 to 32
  int planes = 3;         // of each number, see PlanesOf
  int products = 6;       // of planes that make one product, see ProductLevels

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
enum class PlanePointer : uint8_t { kLeft, kSecondLeft, kRight, kSums, kPrefetched };

// Whether the rows, columns and steps are within the limits above.
bool IsPlaneTile(const PlaneTile& tile);

// Makes the tile's steps those of a matrix whose rows have so many bytes, a multiple of 64.
void SetDepth(PlaneTile& tile, int64_t row_bytes);

// All of them: `right` has 64 bytes of each column for each.
int64_t PlaneSteps(const PlaneTile& tile);

// Planes of a number of which so many products make one. REQUIRES: products is 1, 3, 6 or 8.
int PlanesOf(int products);

// The levels of a product, the weightiest first, each with the planes of `left` and `right` that
// are multiplied. REQUIRES: as PlanesOf.
std::vector<std::vector<std::pair<int, int>>> ProductLevels(int products);

// Tiles of 16 columns.
int ColumnTiles(const PlaneTile& tile);

// All of `right`: [step][plane][column tile][16 rows of the tile][64 bytes].
int64_t RightTileBytes(const PlaneTile& tile);

// Sums of 32 bits lie as [level][piece][column tile][16][16].
int64_t LevelNumbers(const PlaneTile& tile);
int64_t SumOffset(const PlaneTile& tile, int level, int piece, int m, int n);

}  // namespace plait
