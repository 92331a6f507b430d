#include "optimizer/cost/scale_profile.h"

#include <limits>

#include <gtest/gtest.h>

namespace plait {
namespace {

constexpr Yardsticks kThen = {.multiply_add_flops_per_us = 1000, .read_bytes_per_us = 100};

// 8 us at the speed of kThen, where ten flops per byte are as much as the device can do.
Profile KernelOf(int64_t flops, int64_t bytes) {
  return {.latency_us_median = 8,
          .latency_us_p10 = 4,
          .latency_us_mad = 2,
          .samples = 5,
          .bytes = bytes,
          .flops = flops,
          .yardsticks = kThen};
}

TEST(ScaledToPresent, FollowsTheMultiplyAddsAboveTheDevicesFlopsPerByte) {
  const Yardsticks present = {.multiply_add_flops_per_us = 500, .read_bytes_per_us = 300};
  const Profile scaled = ScaledToPresent(KernelOf(2001, 200), present);
  EXPECT_EQ(scaled.latency_us_median, 16);
  EXPECT_EQ(scaled.latency_us_p10, 8);
  EXPECT_EQ(scaled.latency_us_mad, 4);
  EXPECT_EQ(scaled.samples, 5);
  EXPECT_EQ(scaled.yardsticks, kThen);
  EXPECT_EQ(ScaledToPresent(KernelOf(1, 0), present).latency_us_median, 16);
}

TEST(ScaledToPresent, FollowsTheReadsBelow) {
  const Yardsticks present = {.multiply_add_flops_per_us = 500, .read_bytes_per_us = 200};
  EXPECT_EQ(ScaledToPresent(KernelOf(2000, 200), present).latency_us_median, 4);
  EXPECT_EQ(ScaledToPresent(KernelOf(0, 200), present).latency_us_median, 4);
}

TEST(ScaledToPresent, LeavesTimesOfAnUnknownSpeedAsTheyAre) {
  Profile unknown = KernelOf(2000, 200);
  unknown.yardsticks = {};
  EXPECT_EQ(ScaledToPresent(unknown, kThen), unknown);
  EXPECT_EQ(ScaledToPresent(KernelOf(2000, 200), {}), KernelOf(2000, 200));
}

// A log may come from anybody.
TEST(ScaledToPresent, NeverMakesATimeThatIsNone) {
  Profile profile = KernelOf(2000, 200);
  profile.latency_us_median = std::numeric_limits<double>::max();
  EXPECT_EQ(ScaledToPresent(profile, {.multiply_add_flops_per_us = 1, .read_bytes_per_us = 1}),
            profile);
}

TEST(YardsticksBetween, AreTheMeansAndTheLargerMove) {
  const Yardsticks after = {.multiply_add_flops_per_us = 1020, .read_bytes_per_us = 96};
  const Yardsticks between = YardsticksBetween(kThen, after);
  EXPECT_EQ(between.multiply_add_flops_per_us, 1010);
  EXPECT_EQ(between.read_bytes_per_us, 98);
  EXPECT_NEAR(between.drift, 0.04, 1e-12);
}

TEST(YardsticksBetween, AreUnknownWhereAReadingIsMissing) {
  EXPECT_EQ(YardsticksBetween({}, kThen), Yardsticks());
  EXPECT_EQ(YardsticksBetween(kThen, {}), Yardsticks());
}

}  // namespace
}  // namespace plait
