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

int Pieces(const DigitTile& tile) { return tile.rows[1] > 0 ? 2 : 1; }

class DigitWriter {
 public:
  explicit DigitWriter(const DigitTile& tile)
      : tile_(tile),
        pieces_(Pieces(tile)),
        column_tiles_(ColumnTiles(tile)),
        levels_(DigitLevels(tile.products)) {
    list_.pointers = tile.prefetch_bytes_per_step > 0 ? 5 : 4;
    for (int piece = 0; piece < pieces_; ++piece) {
      const auto rows = static_cast<uint8_t>(tile.rows[piece]);
      list_.tiles[kLeftTile + piece] = {rows, kStepBytes};
      for (int column = 0; column < column_tiles_; ++column) {
        list_.tiles[SumOf(piece, column)] = {rows, 64};
      }
    }
    for (int column = 0; column < column_tiles_; ++column) {
      list_.tiles[kRightTile + column] = {16, 64};
    }
  }

  // The first block begins the sums, if it stands alone or can be taken out of its repeats; else
  // they begin as zeros in memory.
  Microkernel Write() {
    bool begins = true;
    if (tile_.repeats.empty()) {
      WriteBlock(tile_.block_steps, begins, 0);
      begins = false;
    } else if (tile_.repeats.size() == 1) {
      const auto [count, left_bytes] = tile_.repeats[0];
      WriteBlock(tile_.block_steps, begins, left_bytes);
      begins = false;
      if (count > 1) {
        Add({.op = MicroOp::kRepeat, .number = count - 1});
        WriteBlock(tile_.block_steps, begins, left_bytes);
        Add({.op = MicroOp::kEnd});
      }
    } else {
      WriteZeros();
      begins = false;
      const auto [count, left_bytes] = tile_.repeats[0];
      const auto [outer_count, outer_bytes] = tile_.repeats[1];
      Add({.op = MicroOp::kRepeat, .number = outer_count});
      Add({.op = MicroOp::kRepeat, .number = count});
      WriteBlock(tile_.block_steps, begins, left_bytes);
      Add({.op = MicroOp::kEnd});
      AdvanceLeft(outer_bytes - count * left_bytes);
      Add({.op = MicroOp::kEnd});
    }
    if (!tile_.last_steps.empty()) WriteBlock(tile_.last_steps, begins, 0);
    return std::move(list_);
  }

 private:
  void Add(const MicroInstruction& instruction) { list_.instructions.push_back(instruction); }
  void Advance(DigitPointer pointer, int32_t bytes) {
    if (bytes == 0) return;
    Add({.op = MicroOp::kAdvance, .pointer = static_cast<uint8_t>(pointer), .offset = bytes});
  }
  void AdvanceLeft(int32_t bytes) {
    Advance(DigitPointer::kLeft, bytes);
    if (pieces_ > 1) Advance(DigitPointer::kSecondLeft, bytes);
  }
  // Loads or stores a tile.
  void Move(MicroOp op, int tile, DigitPointer pointer, int32_t offset, int32_t row_bytes) {
    Add({.op = op,
         .target = static_cast<uint8_t>(tile),
         .pointer = static_cast<uint8_t>(pointer),
         .offset = offset,
         .number = row_bytes});
  }

  int sums() const { return pieces_ * column_tiles_; }
  int levels() const { return static_cast<int>(levels_.size()); }
  int SumOf(int piece, int column) const { return kSumTile + piece * column_tiles_ + column; }
  int32_t RightStepBytes() const { return tile_.planes * column_tiles_ * kTileBytes; }
  int32_t SumBytes(int level, int sum) const { return (level * sums() + sum) * kTileBytes; }

  void WriteZeros() {
    for (int sum = 0; sum < sums(); ++sum) {
      Add({.op = MicroOp::kTileZero, .target = static_cast<uint8_t>(kSumTile + sum)});
      for (int level = 0; level < levels(); ++level) {
        Move(MicroOp::kTileStore, kSumTile + sum, DigitPointer::kSums, SumBytes(level, sum), 64);
      }
    }
  }

  // `left_bytes` further the next block begins.
  void WriteBlock(const std::vector<int32_t>& steps, bool begins, int32_t left_bytes) {
    for (int level = levels() - 1; level >= 0; --level) {
      for (int sum = 0; sum < sums(); ++sum) {
        if (begins) {
          Add({.op = MicroOp::kTileZero, .target = static_cast<uint8_t>(kSumTile + sum)});
        } else {
          Move(MicroOp::kTileLoad, kSumTile + sum, DigitPointer::kSums, SumBytes(level, sum), 64);
        }
      }
      int32_t right_bytes = 0;
      for (const int32_t left : steps) {
        WriteStep(level, left, right_bytes);
        right_bytes += RightStepBytes();
      }
      for (int sum = 0; sum < sums(); ++sum) {
        Move(MicroOp::kTileStore, kSumTile + sum, DigitPointer::kSums, SumBytes(level, sum), 64);
      }
    }
    const auto count = static_cast<int32_t>(steps.size());
    AdvanceLeft(left_bytes);
    Advance(DigitPointer::kRight, count * RightStepBytes());
    Advance(DigitPointer::kPrefetched, count * tile_.prefetch_bytes_per_step);
    prefetched_ = 0;
  }

  void WriteStep(int level, int32_t left_bytes, int32_t right_bytes) {
    for (const auto& [left, right] : levels_[level]) {
      for (int piece = 0; piece < pieces_; ++piece) {
        Move(MicroOp::kTileLoad, kLeftTile + piece,
             piece == 0 ? DigitPointer::kLeft : DigitPointer::kSecondLeft,
             left_bytes + left * tile_.left_plane_bytes, tile_.left_row_bytes);
      }
      for (int column = 0; column < column_tiles_; ++column) {
        Move(MicroOp::kTileLoad, kRightTile + column, DigitPointer::kRight,
             right_bytes + (right * column_tiles_ + column) * kTileBytes, 64);
      }
      for (int piece = 0; piece < pieces_; ++piece) {
        for (int column = 0; column < column_tiles_; ++column) {
          Add({.op = MicroOp::kTileMultiplyBytes,
               .target = static_cast<uint8_t>(SumOf(piece, column)),
               .left = static_cast<uint8_t>(kLeftTile + piece),
               .right = static_cast<uint8_t>(kRightTile + column)});
        }
      }
    }
    // By the level that is first in each block and has the most products to hide it behind.
    if (level == levels() - 1) Prefetch();
  }

  void Prefetch() {
    for (int32_t bytes = 0; bytes < tile_.prefetch_bytes_per_step; bytes += 64) {
      Add({.op = MicroOp::kPrefetch,
           .pointer = static_cast<uint8_t>(DigitPointer::kPrefetched),
           .offset = prefetched_ + bytes});
    }
    prefetched_ += tile_.prefetch_bytes_per_step;
  }

  const DigitTile tile_;
  const int pieces_;
  const int column_tiles_;
  const std::vector<std::vector<std::pair<int, int>>> levels_;
  int32_t prefetched_ = 0;  // in this block
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

// Three steps of three planes of 32 rows and of 32 columns take 36 KiB, and leave room for sums.
void SetDepth(DigitTile& tile, int64_t depth) {
  constexpr int kBlockSteps = 3;
  const auto steps = static_cast<int>(depth / kStepBytes);
  const auto offsets = [](int count) {
    std::vector<int32_t> bytes;
    for (int i = 0; i < count; ++i) bytes.push_back(i * kStepBytes);
    return bytes;
  };
  tile.block_steps = offsets(std::min(kBlockSteps, steps));
  tile.repeats.clear();
  tile.last_steps.clear();
  if (steps <= kBlockSteps) return;
  tile.repeats = {{steps / kBlockSteps, kBlockSteps * kStepBytes}};
  tile.last_steps = offsets(steps % kBlockSteps);
}

int64_t DigitSteps(const DigitTile& tile) {
  auto steps = static_cast<int64_t>(tile.block_steps.size());
  for (const DigitTile::Repeat& repeat : tile.repeats) steps *= repeat.count;
  return steps + static_cast<int64_t>(tile.last_steps.size());
}

int64_t RightDigitOffset(const DigitTile& tile, int plane, int64_t k, int n) {
  return RightDigitOffset(tile.planes, ColumnTiles(tile), plane, k, n);
}

int64_t RightBytes(const DigitTile& tile) {
  return DigitSteps(tile) * tile.planes * ColumnTiles(tile) * kTileBytes;
}

int64_t LevelNumbers(const DigitTile& tile) {
  return int64_t{Pieces(tile)} * ColumnTiles(tile) * 256;
}

int64_t SumOffset(const DigitTile& tile, int level, int piece, int m, int n) {
  return level * LevelNumbers(tile) + (int64_t{piece} * ColumnTiles(tile) + n / 16) * 256 +
         int64_t{m} * 16 + n % 16;
}

int64_t SumCount(const DigitTile& tile) {
  return static_cast<int64_t>(DigitLevels(tile.products).size()) * LevelNumbers(tile);
}

Microkernel DigitMicrokernel(const DigitTile& tile) {
  PLAIT_CHECK(tile.rows[0] >= 1 && tile.rows[0] <= 16 && tile.rows[1] >= 0 && tile.rows[1] <= 16);
  PLAIT_CHECK(tile.columns >= 1 && tile.columns <= 32);
  PLAIT_CHECK(!tile.block_steps.empty() && tile.repeats.size() <= 2);
  PLAIT_CHECK(tile.planes == (tile.products == 3 ? 2 : 3));
  return DigitWriter(tile).Write();
}

}  // namespace plait
