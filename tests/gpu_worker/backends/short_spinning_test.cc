#include "gpu_worker/backends/short_spinning.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/numbers.h"

namespace plait {
namespace {

using ::testing::ElementsAre;
using ::testing::StartsWith;

constexpr absl::string_view kName = "GOMP_SPINCOUNT=";

TEST(ShortSpinning, AddsACountOfPausesToTheEnvironment) {
  const auto environment = WithShortSpinning({"HOME=/root", "OMP_NUM_THREADS=2"});
  ASSERT_TRUE(environment.has_value());
  ASSERT_THAT(*environment,
              ElementsAre("HOME=/root", "OMP_NUM_THREADS=2", StartsWith(std::string(kName))));
  int64_t count = 0;
  ASSERT_TRUE(absl::SimpleAtoi(environment->back().substr(kName.size()), &count));
  // From a pause of a microsecond, under a slow emulation, to one of a nanosecond.
  EXPECT_GE(count, 1000);
  EXPECT_LE(count, 10'000'000);
}

TEST(ShortSpinning, LeavesAChoiceOfTheUsersAlone) {
  EXPECT_EQ(WithShortSpinning({"OMP_WAIT_POLICY=passive"}), std::nullopt);
  EXPECT_EQ(WithShortSpinning({"HOME=/root", "GOMP_SPINCOUNT=5"}), std::nullopt);
}

TEST(ShortSpinning, WhatItMadeNeedsNoFurtherChange) {
  const auto environment = WithShortSpinning({});
  ASSERT_TRUE(environment.has_value());
  EXPECT_EQ(WithShortSpinning(*environment), std::nullopt);
}

}  // namespace
}  // namespace plait
