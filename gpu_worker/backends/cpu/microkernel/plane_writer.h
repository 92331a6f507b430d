#pragma once

#include <vector>

#include "gpu_worker/backends/cpu/microkernel/microkernel.h"
#include "gpu_worker/backends/cpu/microkernel/plane_tile.h"

namespace plait {

// What writers of lists for tiles of products in planes have in common: which tiles there are, and
// the instructions that move through both sides.
class PlaneWriter {
 protected:
  static constexpr int32_t kTileBytes = 1024;  // of 16 rows of 64 bytes
  static constexpr int kSumTile = 0, kLeftTile = 4, kRightTile = 6;

  // REQUIRES: IsPlaneTile.
  explicit PlaneWriter(const PlaneTile& tile);

  void Add(const MicroInstruction& instruction) { list_.instructions.push_back(instruction); }
  void Advance(PlanePointer pointer, int32_t bytes);
  // All pieces.
  void AdvanceLeft(int32_t bytes);
  // Both sides, and what is prefetched, behind a block of so many steps.
  void AdvanceBlock(size_t steps, int32_t left_bytes);
  // Loads or stores a tile.
  void Move(MicroOp op, int tile, PlanePointer pointer, int32_t offset, int32_t row_bytes);
  // Load a plane of all rows, or columns, at a step; and add the products of what is loaded to all
  // sums.
  void LoadLeft(int plane, int32_t left_bytes);
  void LoadRight(int plane, int32_t right_bytes);
  void Multiply(MicroOp op);
  // One step's share.
  void Prefetch();

  int sums() const { return pieces_ * column_tiles_; }
  int SumOf(int piece, int column) const { return kSumTile + piece * column_tiles_ + column; }
  int32_t RightStepBytes() const { return tile_.planes * column_tiles_ * kTileBytes; }

  const PlaneTile tile_;
  const int pieces_;
  const int column_tiles_;
  int32_t prefetched_ = 0;  // in this block
  Microkernel list_;
};

}  // namespace plait
