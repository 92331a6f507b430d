#pragma once

#include <array>
#include <cstddef>

#include "gpu_worker/backends/cpu/microkernel/microkernel.h"

// What the processor's tile instructions compute, in C++, bit for bit. Pure and thread-safe.
namespace plait {

// The largest tile, by rows; what a smaller one lacks is zero.
using Tile = std::array<std::array<std::byte, 64>, 16>;

// sums += left * right. `left` has a row of numbers for each of the sums' rows. `right` has `depth`
// rows, each with the next few numbers of every column: four bytes, or a pair of bf16. `shape` is
// the sums', of four bytes each.

// Signed bytes. A sum that is too large wraps around, as the processor's does.
void MultiplyByteTiles(const TileShape& shape, int depth, const Tile& left, const Tile& right,
                       Tile* sums);

// bf16, in the order that the processor's manual gives: of the pairs of a row and a column the
// first numbers' products are added up, and the second ones', from zero on; then these two sums,
// and what comes of it to the sum in the tile, which so is rounded once for a whole tile of
// numbers. Denormal numbers are taken for zeros, and zeros given for denormal sums.
void MultiplyBf16Tiles(const TileShape& shape, int depth, const Tile& left, const Tile& right,
                       Tile* sums);

}  // namespace plait
