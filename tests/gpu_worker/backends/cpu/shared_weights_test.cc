#include "gpu_worker/backends/cpu/run/shared_weights.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <optional>

#include <gtest/gtest.h>
#include <sys/mman.h>

namespace plait {
namespace {

constexpr int64_t kBytes = 4096;

SharingExecutable SharingOf(SharedWeights* shared) {
  absl::StatusOr<SharingExecutable> executable = SharingExecutable::Create(shared, 1 << 20);
  EXPECT_TRUE(executable.ok()) << executable.status();
  return *std::move(executable);
}

// Packs a piece, or finds it packed.
SharingExecutable::Place Pack(SharingExecutable& executable, const Fingerprint& key) {
  const absl::StatusOr<SharingExecutable::Place> place = executable.Allocate(key, kBytes);
  EXPECT_TRUE(place.ok()) << place.status();
  if (!place->is_packed) std::memset(place->data, static_cast<int>(key.low), kBytes);
  executable.Publish();
  return *place;
}

TEST(SharedWeightsTest, APieceIsPackedOnce) {
  SharedWeights shared;
  SharingExecutable first = SharingOf(&shared);
  SharingExecutable second = SharingOf(&shared);
  const SharingExecutable::Place packed = Pack(first, {1, 1});
  EXPECT_FALSE(packed.is_packed);
  const SharingExecutable::Place found = Pack(second, {1, 1});
  EXPECT_TRUE(found.is_packed);
  EXPECT_EQ(found.data, packed.data);
  EXPECT_FALSE(Pack(second, {1, 2}).is_packed);
}

// A shape of a session packs hardly anything that the others have not.
TEST(SharedWeightsTest, AFewBytesTakeNoLargePage) {
  constexpr size_t kPageBytes = 4096;
  SharedWeights shared;
  absl::StatusOr<SharingExecutable> executable =
      SharingExecutable::Create(&shared, int64_t{64} << 20);
  ASSERT_TRUE(executable.ok()) << executable.status();
  const SharingExecutable::Place place = Pack(*executable, {1, 1});
  ASSERT_EQ(reinterpret_cast<uintptr_t>(place.data) % kPageBytes, 0u) << "the region's first";
  unsigned char pages[256] = {};
  ASSERT_EQ(mincore(place.data, sizeof(pages) * kPageBytes, pages), 0);
  const auto is_there = [](unsigned char page) { return (page & 1) != 0; };
  EXPECT_LE(std::count_if(std::begin(pages), std::end(pages), is_there), 16);
}

TEST(SharedWeightsTest, APieceLivesAsLongAsAnybodyReadsIt) {
  SharedWeights shared;
  std::optional<SharingExecutable> first = SharingOf(&shared);
  std::optional<SharingExecutable> second = SharingOf(&shared);
  Pack(*first, {1, 7});
  const std::byte* const data = Pack(*second, {1, 7}).data;
  first.reset();
  for (int64_t i = 0; i < kBytes; ++i) ASSERT_EQ(data[i], std::byte{7});
  {
    SharingExecutable third = SharingOf(&shared);
    EXPECT_TRUE(Pack(third, {1, 7}).is_packed);
  }
  second.reset();
  SharingExecutable fourth = SharingOf(&shared);
  EXPECT_FALSE(Pack(fourth, {1, 7}).is_packed) << "all who had it have gone";
}

// A load that fails midway may have left anything.
TEST(SharedWeightsTest, WhatIsNotPublishedIsNotFound) {
  SharedWeights shared;
  SharingExecutable first = SharingOf(&shared);
  ASSERT_TRUE(first.Allocate({1, 1}, kBytes).ok());
  SharingExecutable second = SharingOf(&shared);
  EXPECT_FALSE(Pack(second, {1, 1}).is_packed);
  first.Forget();
  first.Publish();
  SharingExecutable third = SharingOf(&shared);
  EXPECT_TRUE(Pack(third, {1, 1}).is_packed) << "by the second one";
}

TEST(SharedWeightsTest, StepsThatShareTheirWeightsHaveOnePiece) {
  SharedWeights shared;
  std::optional<SharingExecutable> executable = SharingOf(&shared);
  const SharingExecutable::Place one = Pack(*executable, {1, 1});
  const SharingExecutable::Place other = Pack(*executable, {1, 1});
  EXPECT_TRUE(other.is_packed);
  EXPECT_EQ(one.data, other.data);
  executable.reset();
  SharingExecutable next = SharingOf(&shared);
  EXPECT_FALSE(Pack(next, {1, 1}).is_packed) << "nobody keeps it but who had it";
}

TEST(SharedWeightsTest, ForgetsPiecesThatAreGone) {
  SharedWeights shared;
  for (uint64_t i = 0; i < 5000; ++i) {
    SharingExecutable executable = SharingOf(&shared);
    ASSERT_FALSE(Pack(executable, {2, i}).is_packed);
  }
  EXPECT_LE(shared.size(), 2048u);
}

}  // namespace
}  // namespace plait
