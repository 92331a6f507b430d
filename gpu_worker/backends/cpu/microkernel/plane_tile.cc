#include "gpu_worker/backends/cpu/microkernel/plane_tile.h"

#include <algorithm>

#include "base/status_macros.h"

namespace plait {
namespace {

constexpr int32_t kStepBytes = 64;    // of a row, in a step
constexpr int32_t kTileBytes = 1024;  // of 16 rows of 64 bytes

}  // namespace

bool IsPlaneTile(const PlaneTile& tile) {
  return tile.rows[0] >= 1 && tile.rows[0] <= 16 && tile.rows[1] >= 0 && tile.rows[1] <= 16 &&
         tile.columns >= 1 && tile.columns <= 32 && !tile.block_steps.empty() &&
         tile.repeats.size() <= 2;
}

// Three steps of three planes of 32 rows and of 32 columns take 36 KiB, and leave room for sums.
void SetDepth(PlaneTile& tile, int64_t row_bytes) {
  constexpr int kBlockSteps = 3;
  const auto steps = static_cast<int>(row_bytes / kStepBytes);
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

int64_t PlaneSteps(const PlaneTile& tile) {
  auto steps = static_cast<int64_t>(tile.block_steps.size());
  for (const PlaneTile::Repeat& repeat : tile.repeats) steps *= repeat.count;
  return steps + static_cast<int64_t>(tile.last_steps.size());
}

int PlanesOf(int products) {
  if (products == 1) return 1;
  return products == 3 ? 2 : 3;
}

std::vector<std::vector<std::pair<int, int>>> ProductLevels(int products) {
  switch (products) {
    case 1:
      return {{{0, 0}}};
    case 3:
      return {{{0, 0}}, {{0, 1}, {1, 0}}};
    case 6:
      return {{{0, 0}}, {{0, 1}, {1, 0}}, {{0, 2}, {1, 1}, {2, 0}}};
    default:
      PLAIT_CHECK(products == 8);
      return {{{0, 0}}, {{0, 1}, {1, 0}}, {{0, 2}, {1, 1}, {2, 0}}, {{1, 2}, {2, 1}}};
  }
}

int ColumnTiles(const PlaneTile& tile) { return (tile.columns + 15) / 16; }

int64_t RightTileBytes(const PlaneTile& tile) {
  return PlaneSteps(tile) * tile.planes * ColumnTiles(tile) * kTileBytes;
}

int64_t LevelNumbers(const PlaneTile& tile) {
  return int64_t{tile.rows[1] > 0 ? 2 : 1} * ColumnTiles(tile) * 256;
}

int64_t SumOffset(const PlaneTile& tile, int level, int piece, int m, int n) {
  return level * LevelNumbers(tile) + (int64_t{piece} * ColumnTiles(tile) + n / 16) * 256 +
         int64_t{m} * 16 + n % 16;
}

}  // namespace plait
