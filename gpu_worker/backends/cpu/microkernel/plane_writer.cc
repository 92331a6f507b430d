#include "gpu_worker/backends/cpu/microkernel/plane_writer.h"

#include "base/status_macros.h"

namespace plait {

PlaneWriter::PlaneWriter(const PlaneTile& tile)
    : tile_(tile), pieces_(tile.rows[1] > 0 ? 2 : 1), column_tiles_(ColumnTiles(tile)) {
  PLAIT_CHECK(IsPlaneTile(tile));
  list_.pointers = tile.prefetch_bytes_per_step > 0 ? 5 : 4;
  for (int piece = 0; piece < pieces_; ++piece) {
    const auto rows = static_cast<uint8_t>(tile.rows[piece]);
    list_.tiles[kLeftTile + piece] = {rows, 64};
    for (int column = 0; column < column_tiles_; ++column) {
      list_.tiles[SumOf(piece, column)] = {rows, 64};
    }
  }
  for (int column = 0; column < column_tiles_; ++column) {
    list_.tiles[kRightTile + column] = {16, 64};
  }
}

void PlaneWriter::Advance(PlanePointer pointer, int32_t bytes) {
  if (bytes == 0) return;
  Add({.op = MicroOp::kAdvance, .pointer = static_cast<uint8_t>(pointer), .offset = bytes});
}

void PlaneWriter::AdvanceLeft(int32_t bytes) {
  Advance(PlanePointer::kLeft, bytes);
  if (pieces_ > 1) Advance(PlanePointer::kSecondLeft, bytes);
}

void PlaneWriter::AdvanceBlock(size_t steps, int32_t left_bytes) {
  const auto count = static_cast<int32_t>(steps);
  AdvanceLeft(left_bytes);
  Advance(PlanePointer::kRight, count * RightStepBytes());
  Advance(PlanePointer::kPrefetched, count * tile_.prefetch_bytes_per_step);
  prefetched_ = 0;
}

void PlaneWriter::Move(MicroOp op, int tile, PlanePointer pointer, int32_t offset,
                       int32_t row_bytes) {
  Add({.op = op,
       .target = static_cast<uint8_t>(tile),
       .pointer = static_cast<uint8_t>(pointer),
       .offset = offset,
       .number = row_bytes});
}

void PlaneWriter::LoadLeft(int plane, int32_t left_bytes) {
  for (int piece = 0; piece < pieces_; ++piece) {
    Move(MicroOp::kTileLoad, kLeftTile + piece,
         piece == 0 ? PlanePointer::kLeft : PlanePointer::kSecondLeft,
         left_bytes + plane * tile_.left_plane_bytes, tile_.left_row_bytes);
  }
}

void PlaneWriter::LoadRight(int plane, int32_t right_bytes) {
  for (int column = 0; column < column_tiles_; ++column) {
    Move(MicroOp::kTileLoad, kRightTile + column, PlanePointer::kRight,
         right_bytes + (plane * column_tiles_ + column) * kTileBytes, 64);
  }
}

void PlaneWriter::Multiply(MicroOp op) {
  for (int piece = 0; piece < pieces_; ++piece) {
    for (int column = 0; column < column_tiles_; ++column) {
      Add({.op = op,
           .target = static_cast<uint8_t>(SumOf(piece, column)),
           .left = static_cast<uint8_t>(kLeftTile + piece),
           .right = static_cast<uint8_t>(kRightTile + column)});
    }
  }
}

void PlaneWriter::Prefetch() {
  for (int32_t bytes = 0; bytes < tile_.prefetch_bytes_per_step; bytes += 64) {
    Add({.op = MicroOp::kPrefetch,
         .pointer = static_cast<uint8_t>(PlanePointer::kPrefetched),
         .offset = prefetched_ + bytes});
  }
  prefetched_ += tile_.prefetch_bytes_per_step;
}

}  // namespace plait
