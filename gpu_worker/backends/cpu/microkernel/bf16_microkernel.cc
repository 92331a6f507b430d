#include "gpu_worker/backends/cpu/microkernel/bf16_microkernel.h"

#include "base/status_macros.h"
#include "gpu_worker/backends/cpu/microkernel/plane_writer.h"

// Two planes, 32 rows, 32 columns, blocks of one step:
//   tile_zero t0 t1 t2 t3
//   repeat                                for each block
//     tile_load t4 t5 [left, plane 0]     b1 of the rows
//     tile_load t6 t7 [right, plane 1]    b2 of the columns
//     tile_multiply_bf16 t0 += t4 * t6, t1 += t4 * t7, t2 += t5 * t6, t3 += t5 * t7
//     ...                                 planes 1 and 0, planes 0 and 0
//     advance left, right
//   tile_store t0 t1 t2 t3 [sums]
// The sums stay in their tiles from the first step to the last.

namespace plait {
namespace {

class Bf16Writer : private PlaneWriter {
 public:
  explicit Bf16Writer(const PlaneTile& tile)
      : PlaneWriter(tile), levels_(ProductLevels(tile.products)) {}

  Microkernel Write() {
    for (int sum = 0; sum < sums(); ++sum) {
      Add({.op = MicroOp::kTileZero, .target = static_cast<uint8_t>(kSumTile + sum)});
    }
    const std::vector<PlaneTile::Repeat>& repeats = tile_.repeats;
    for (size_t i = repeats.size(); i-- > 0;) {
      Add({.op = MicroOp::kRepeat, .number = repeats[i].count});
    }
    WriteBlock(tile_.block_steps, repeats.empty() ? 0 : repeats[0].left_bytes);
    for (size_t i = 0; i < repeats.size(); ++i) {
      // Back from where the repeats within have ended.
      if (i > 0)
        AdvanceLeft(repeats[i].left_bytes - repeats[i - 1].count * repeats[i - 1].left_bytes);
      Add({.op = MicroOp::kEnd});
    }
    if (!tile_.last_steps.empty()) WriteBlock(tile_.last_steps, 0);
    for (int sum = 0; sum < sums(); ++sum) {
      Move(MicroOp::kTileStore, kSumTile + sum, PlanePointer::kSums, sum * kTileBytes, 64);
    }
    return std::move(list_);
  }

 private:
  // `left_bytes` further the next block begins.
  void WriteBlock(const std::vector<int32_t>& steps, int32_t left_bytes) {
    int32_t right_bytes = 0;
    for (const int32_t left : steps) {
      WriteStep(left, right_bytes);
      right_bytes += RightStepBytes();
    }
    AdvanceBlock(steps.size(), left_bytes);
  }

  void WriteStep(int32_t left_bytes, int32_t right_bytes) {
    int loaded = -1;  // plane of the columns
    for (auto level = levels_.rbegin(); level != levels_.rend(); ++level) {
      for (const auto& [left, right] : *level) {
        LoadLeft(left, left_bytes);
        if (right != loaded) LoadRight(right, right_bytes);
        loaded = right;
        Multiply(MicroOp::kTileMultiplyBf16);
      }
    }
    Prefetch();
  }

  const std::vector<std::vector<std::pair<int, int>>> levels_;
};

}  // namespace

Microkernel Bf16Microkernel(const PlaneTile& tile) {
  PLAIT_CHECK(tile.products <= 6 && tile.planes == PlanesOf(tile.products));
  return Bf16Writer(tile).Write();
}

}  // namespace plait
