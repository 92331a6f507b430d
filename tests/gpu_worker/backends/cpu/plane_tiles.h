#pragma once

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gpu_worker/backends/cpu/microkernel/plane_tile.h"

namespace plait {

// Where each step begins behind a piece, in the order in which they go by.
inline std::vector<int64_t> StepBegins(const PlaneTile& tile) {
  std::vector<int64_t> begins = {0};
  for (size_t i = tile.repeats.size(); i-- > 0;) {
    std::vector<int64_t> inner;
    for (const int64_t begin : begins) {
      for (int turn = 0; turn < tile.repeats[i].count; ++turn) {
        inner.push_back(begin + int64_t{turn} * tile.repeats[i].left_bytes);
      }
    }
    begins = inner;
  }
  std::vector<int64_t> steps;
  for (const int64_t begin : begins) {
    for (const int32_t step : tile.block_steps) steps.push_back(begin + step);
  }
  const int64_t end = tile.repeats.empty() ? 0 : tile.repeats[0].count * tile.repeats[0].left_bytes;
  for (const int32_t step : tile.last_steps) steps.push_back(end + step);
  return steps;
}

// Adds tiles of one and two pieces, of one and several blocks, and of a convolution.
inline void AddTiles(int products, int columns, std::vector<PlaneTile>& tiles) {
  PlaneTile tile{.columns = columns, .planes = PlanesOf(products), .products = products};
  for (const std::pair<int, int>& rows : {std::pair(1, 0), {15, 0}, {16, 0}, {16, 1}, {16, 16}}) {
    tile.rows[0] = rows.first;
    tile.rows[1] = rows.second;
    for (const int64_t depth : {64, 192, 320, 448}) {
      SetDepth(tile, depth);
      tile.left_row_bytes = static_cast<int32_t>(depth) + 64;
      tile.left_plane_bytes = 21 * tile.left_row_bytes;
      tile.prefetch_bytes_per_step = depth == 192 ? 128 : 0;
      tiles.push_back(tile);
    }
  }
  // A convolution of 3 by 3 pixels of 128 channels over rows of 12 pixels, at every other pixel.
  constexpr int kPixel = 192;
  tile.rows[0] = tile.rows[1] = 5;
  tile.left_row_bytes = 2 * kPixel;
  tile.left_plane_bytes = 60 * kPixel;
  tile.block_steps = {0, kPixel, 2 * kPixel};
  tile.repeats = {{3, 12 * kPixel}, {2, 64}};
  tile.last_steps.clear();
  tiles.push_back(tile);
}

// Where a piece begins: the second one in the middle of the first one's rows, as one row of an
// image may.
inline int64_t PieceBegin(const PlaneTile& tile, int piece) {
  return int64_t{piece} * 5 * tile.left_row_bytes;
}

inline std::string NameOf(const PlaneTile& tile) {
  return absl::StrCat(tile.rows[0], " and ", tile.rows[1], " x ", tile.columns, ", ",
                      PlaneSteps(tile), " steps, ", tile.repeats.size(), " repeats, x",
                      tile.products);
}

}  // namespace plait
