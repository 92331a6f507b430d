#include "gpu_worker/backends/cpu/run/memory.h"

#include <cstddef>
#include <vector>

#include <gtest/gtest.h>

namespace plait {
namespace {

MemoryRegion Reserved(PieceGuard guard) {
  absl::StatusOr<MemoryRegion> region = MemoryRegion::Reserve(1 << 20, guard);
  EXPECT_TRUE(region.ok()) << region.status();
  return region.ok() ? *std::move(region) : MemoryRegion();
}

volatile std::byte* Piece(MemoryRegion& region, int64_t bytes) {
  const absl::StatusOr<std::byte*> piece = region.Allocate(bytes);
  EXPECT_TRUE(piece.ok()) << piece.status();
  return piece.ok() ? *piece : nullptr;
}

TEST(MemoryTest, APieceEndsWithItsLastLineInFrontOfAGuard) {
  MemoryRegion region = Reserved(PieceGuard::kBehind);
  for (const int64_t bytes : {1, 64, 5000, 8192}) {
    volatile std::byte* const piece = Piece(region, bytes);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(piece) % MemoryRegion::kAlignmentBytes, 0u);
    const int64_t end = (bytes + 63) / 64 * 64;
    for (int64_t i = 0; i < end; ++i) piece[i] = std::byte{1};
    EXPECT_DEATH(piece[end] = std::byte{1}, "");
  }
}

TEST(MemoryTest, APieceBeginsBehindAGuard) {
  MemoryRegion region = Reserved(PieceGuard::kInFront);
  for (const int64_t bytes : {1, 64, 5000, 8192}) {
    volatile std::byte* const piece = Piece(region, bytes);
    for (int64_t i = 0; i < bytes; ++i) piece[i] = std::byte{1};
    EXPECT_DEATH(piece[-1] = std::byte{1}, "");
  }
}

// Kernels that follow each other have the same scratch memory, which each asks for anew.
TEST(MemoryTest, GuardedPiecesStayWhereTheyAreWhenARegionBeginsAnew) {
  MemoryRegion region = Reserved(PieceGuard::kBehind);
  volatile std::byte* const first = Piece(region, 20'000);
  region.Reset();
  volatile std::byte* const second = Piece(region, 64);
  EXPECT_TRUE(first != second);
  for (int64_t i = 0; i < 20'000; ++i) first[i] = std::byte{1};
}

TEST(MemoryTest, FillsAllPiecesToTheEndsOfTheirLines) {
  for (const PieceGuard guard : {PieceGuard::kNone, PieceGuard::kBehind, PieceGuard::kInFront}) {
    MemoryRegion region = Reserved(guard);
    std::vector<volatile std::byte*> pieces;
    for (int i = 0; i < 3; ++i) pieces.push_back(Piece(region, 100));
    region.Fill(std::byte{0xff});
    for (volatile std::byte* const piece : pieces) {
      for (int i = 0; i < 128; ++i) ASSERT_TRUE(piece[i] == std::byte{0xff}) << i;
    }
  }
}

TEST(MemoryTest, AGuardedRegionEndsToo) {
  MemoryRegion region = Reserved(PieceGuard::kBehind);
  EXPECT_TRUE(absl::IsResourceExhausted(region.Allocate(int64_t{1} << 30).status()));
}

}  // namespace
}  // namespace plait
