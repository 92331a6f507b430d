#include "gpu_worker/backends/cpu/microkernel/digit_microkernel.h"

#include "base/status_macros.h"
#include "gpu_worker/backends/cpu/microkernel/plane_writer.h"

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

class DigitWriter : private PlaneWriter {
 public:
  explicit DigitWriter(const PlaneTile& tile)
      : PlaneWriter(tile), levels_(ProductLevels(tile.products)) {}

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
  int levels() const { return static_cast<int>(levels_.size()); }
  int32_t SumBytes(int level, int sum) const { return (level * sums() + sum) * kTileBytes; }

  void WriteZeros() {
    for (int sum = 0; sum < sums(); ++sum) {
      Add({.op = MicroOp::kTileZero, .target = static_cast<uint8_t>(kSumTile + sum)});
      for (int level = 0; level < levels(); ++level) {
        Move(MicroOp::kTileStore, kSumTile + sum, PlanePointer::kSums, SumBytes(level, sum), 64);
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
          Move(MicroOp::kTileLoad, kSumTile + sum, PlanePointer::kSums, SumBytes(level, sum), 64);
        }
      }
      int32_t right_bytes = 0;
      for (const int32_t left : steps) {
        WriteStep(level, left, right_bytes);
        right_bytes += RightStepBytes();
      }
      for (int sum = 0; sum < sums(); ++sum) {
        Move(MicroOp::kTileStore, kSumTile + sum, PlanePointer::kSums, SumBytes(level, sum), 64);
      }
    }
    AdvanceBlock(steps.size(), left_bytes);
  }

  void WriteStep(int level, int32_t left_bytes, int32_t right_bytes) {
    for (const auto& [left, right] : levels_[level]) {
      LoadLeft(left, left_bytes);
      LoadRight(right, right_bytes);
      Multiply(MicroOp::kTileMultiplyBytes);
    }
    // By the level that is first in each block and has the most products to hide it behind.
    if (level == levels() - 1) Prefetch();
  }

  const std::vector<std::vector<std::pair<int, int>>> levels_;
};

}  // namespace

int64_t RightDigitOffset(const PlaneTile& tile, int plane, int64_t k, int n) {
  return RightDigitOffset(tile.planes, ColumnTiles(tile), plane, k, n);
}

int64_t DigitSumCount(const PlaneTile& tile) {
  return static_cast<int64_t>(ProductLevels(tile.products).size()) * LevelNumbers(tile);
}

Microkernel DigitMicrokernel(const PlaneTile& tile) {
  PLAIT_CHECK(tile.products > 1 && tile.planes == PlanesOf(tile.products));
  return DigitWriter(tile).Write();
}

}  // namespace plait
