#include "gpu_worker/backends/cpu/microkernel/digit_microkernel.h"

#include <algorithm>

#include "base/status_macros.h"

// Two planes, one step of 64, 32 rows, 32 columns:
//   tile_zero t0 t1 t2 t3                 level 1
//   tile_load t4 t5 [left, plane 0]       digits d0 of the rows
//   tile_load t6 t7 [right, plane 1]      digits d1 of the columns
//   tile_multiply_bytes t0 += t4 * t6, t1 += t4 * t7, t2 += t5 * t6, t3 += t5 * t7
//   ...                                   planes 1 and 0
//   tile_store t0 t1 t2 t3 [sums, level 1]
//   ...                                   level 0
// There are eight tiles, so that one level at a time has its four sums. With a greater depth the
// levels take turns block by block, and go on with the sums that they have stored: a block's digits
// are then read from the first cache by all levels but the first.

namespace plait {
namespace {

constexpr int32_t kStepBytes = 64;    // of a row, in a step
constexpr int32_t kTileBytes = 1024;  // of 16 rows of 64 bytes
constexpr int kSumTile = 0, kLeftTile = 4, kRightTile = 6;

int RowTiles(const DigitTile& tile) { return (tile.rows + 15) / 16; }

class DigitWriter {
 public:
  explicit DigitWriter(const DigitTile& tile)
      : tile_(tile),
        row_tiles_(RowTiles(tile)),
        column_tiles_(ColumnTiles(tile)),
        levels_(DigitLevels(tile.products)) {
    list_.pointers = tile.prefetch_bytes_per_step > 0 ? 4 : 3;
    for (int row = 0; row < row_tiles_; ++row) {
      const auto rows = static_cast<uint8_t>(std::min(16, tile.rows - row * 16));
      list_.tiles[kLeftTile + row] = {rows, kStepBytes};
      for (int column = 0; column < column_tiles_; ++column) {
        list_.tiles[SumOf(row, column)] = {rows, 64};
      }
    }
    for (int column = 0; column < column_tiles_; ++column) {
      list_.tiles[kRightTile + column] = {16, 64};
    }
  }

  // The first block begins the sums; those after it are alike, but for a shorter last one.
  Microkernel Write() {
    const auto steps = static_cast<int>(tile_.depth / kStepBytes);
    const int block = std::min(tile_.block_steps, steps);
    WriteBlock(block, /*is_first=*/true);
    const int repeats = steps / block - 1;
    if (repeats > 0) {
      Add({.op = MicroOp::kRepeat, .number = repeats});
      WriteBlock(block, /*is_first=*/false);
      Add({.op = MicroOp::kEnd});
    }
    if (steps % block > 0) WriteBlock(steps % block, /*is_first=*/false);
    return std::move(list_);
  }

 private:
  void Add(const MicroInstruction& instruction) { list_.instructions.push_back(instruction); }
  void Advance(DigitPointer pointer, int32_t bytes) {
    Add({.op = MicroOp::kAdvance, .pointer = static_cast<uint8_t>(pointer), .offset = bytes});
  }
  // Loads or stores a tile.
  void Move(MicroOp op, int tile, DigitPointer pointer, int32_t offset, int32_t row_bytes) {
    Add({.op = op,
         .target = static_cast<uint8_t>(tile),
         .pointer = static_cast<uint8_t>(pointer),
         .offset = offset,
         .number = row_bytes});
  }

  int SumOf(int row, int column) const { return kSumTile + row * column_tiles_ + column; }
  int32_t RightStepBytes() const { return tile_.planes * column_tiles_ * kTileBytes; }

  void WriteBlock(int steps, bool is_first) {
    for (int level = static_cast<int>(levels_.size()) - 1; level >= 0; --level) {
      for (int sum = 0; sum < row_tiles_ * column_tiles_; ++sum) {
        if (is_first) {
          Add({.op = MicroOp::kTileZero, .target = static_cast<uint8_t>(kSumTile + sum)});
        } else {
          Move(MicroOp::kTileLoad, kSumTile + sum, DigitPointer::kSums, SumBytes(level, sum), 64);
        }
      }
      if (steps > 1) Add({.op = MicroOp::kRepeat, .number = steps});
      WriteStep(level);
      if (steps > 1) Add({.op = MicroOp::kEnd});
      for (int sum = 0; sum < row_tiles_ * column_tiles_; ++sum) {
        Move(MicroOp::kTileStore, kSumTile + sum, DigitPointer::kSums, SumBytes(level, sum), 64);
      }
      // The next level begins where this one began, the next block where it ended.
      if (level == 0) continue;
      Advance(DigitPointer::kLeft, -steps * kStepBytes);
      Advance(DigitPointer::kRight, -steps * RightStepBytes());
    }
  }

  int32_t SumBytes(int level, int sum) const {
    return (level * row_tiles_ * column_tiles_ + sum) * kTileBytes;
  }

  void WriteStep(int level) {
    for (const auto& [left, right] : levels_[level]) {
      for (int row = 0; row < row_tiles_; ++row) {
        Move(MicroOp::kTileLoad, kLeftTile + row, DigitPointer::kLeft,
             left * tile_.left_plane_bytes + row * 16 * tile_.left_row_bytes, tile_.left_row_bytes);
      }
      for (int column = 0; column < column_tiles_; ++column) {
        Move(MicroOp::kTileLoad, kRightTile + column, DigitPointer::kRight,
             (right * column_tiles_ + column) * kTileBytes, 64);
      }
      for (int row = 0; row < row_tiles_; ++row) {
        for (int column = 0; column < column_tiles_; ++column) {
          Add({.op = MicroOp::kTileMultiplyBytes,
               .target = static_cast<uint8_t>(SumOf(row, column)),
               .left = static_cast<uint8_t>(kLeftTile + row),
               .right = static_cast<uint8_t>(kRightTile + column)});
        }
      }
    }
    Advance(DigitPointer::kLeft, kStepBytes);
    Advance(DigitPointer::kRight, RightStepBytes());
    // By the level that is first in each block and has the most products to hide it behind.
    if (level == static_cast<int>(levels_.size()) - 1) Prefetch();
  }

  void Prefetch() {
    if (tile_.prefetch_bytes_per_step == 0) return;
    for (int32_t offset = 0; offset < tile_.prefetch_bytes_per_step; offset += 64) {
      Add({.op = MicroOp::kPrefetch,
           .pointer = static_cast<uint8_t>(DigitPointer::kPrefetched),
           .offset = offset});
    }
    Advance(DigitPointer::kPrefetched, tile_.prefetch_bytes_per_step);
  }

  const DigitTile tile_;
  const int row_tiles_;
  const int column_tiles_;
  const std::vector<std::vector<std::pair<int, int>>> levels_;
  Microkernel list_;
};

}  // namespace

std::vector<std::vector<std::pair<int, int>>> DigitLevels(int products) {
  switch (products) {
    case 3:
      return {{{0, 0}}, {{0, 1}, {1, 0}}};
    case 6:
      return {{{0, 0}}, {{0, 1}, {1, 0}}, {{0, 2}, {1, 1}, {2, 0}}};
    default:
      PLAIT_CHECK(products == 8);
      return {{{0, 0}}, {{0, 1}, {1, 0}}, {{0, 2}, {1, 1}, {2, 0}}, {{1, 2}, {2, 1}}};
  }
}

int ColumnTiles(const DigitTile& tile) { return (tile.columns + 15) / 16; }

int64_t RightDigitOffset(const DigitTile& tile, int plane, int64_t k, int n) {
  const int64_t step = k / kStepBytes * tile.planes + plane;
  return (step * ColumnTiles(tile) + n / 16) * kTileBytes + k % kStepBytes / 4 * 64 + n % 16 * 4 +
         k % 4;
}

int64_t RightBytes(const DigitTile& tile) {
  return tile.depth / kStepBytes * tile.planes * ColumnTiles(tile) * kTileBytes;
}

int64_t SumOffset(const DigitTile& tile, int level, int m, int n) {
  const int64_t row_tile = int64_t{level} * RowTiles(tile) + m / 16;
  return (row_tile * ColumnTiles(tile) + n / 16) * 256 + m % 16 * 16 + n % 16;
}

int64_t SumCount(const DigitTile& tile) {
  const auto levels = static_cast<int64_t>(DigitLevels(tile.products).size());
  return levels * RowTiles(tile) * ColumnTiles(tile) * 256;
}

Microkernel DigitMicrokernel(const DigitTile& tile) {
  PLAIT_CHECK(tile.rows >= 1 && tile.rows <= 32);
  PLAIT_CHECK(tile.columns >= 1 && tile.columns <= 32);
  PLAIT_CHECK(tile.depth >= kStepBytes && tile.depth % kStepBytes == 0 && tile.block_steps >= 1);
  PLAIT_CHECK(tile.planes == (tile.products == 3 ? 2 : 3));
  return DigitWriter(tile).Write();
}

}  // namespace plait
