#pragma once

#include <cstdint>

// The matrix tiles of x86-64 processors with AMX, as fast as they go: products of tiles that are in
// registers, so that no memory takes part.
namespace plait {

// Runs so many steps of four independent products, whose operations are counted below.
// REQUIRES: DetectedInstructionSet() is kAmx.
void MultiplyByteTiles(int64_t steps);
void MultiplyBf16Tiles(int64_t steps);

// Multiplications and additions of a step.
constexpr int64_t kByteTileOperationsPerStep = int64_t{4} * 2 * 16 * 16 * 64;
constexpr int64_t kBf16TileOperationsPerStep = int64_t{4} * 2 * 16 * 16 * 32;

}  // namespace plait
