#include "client/gate/sequential_test.h"

#include <cmath>

#include <gtest/gtest.h>

#include "base/random.h"

namespace plait {
namespace {

using Decision = SequentialTest::Decision;

SequentialTest TestOf(const std::vector<double>& observations, double limit = 0.02) {
  SequentialTest test(limit, 0.01);
  for (const double observation : observations) test.Add(observation);
  return test;
}

TEST(SequentialTestTest, KnowsNothingBeforeThereIsAnything) {
  const SequentialTest test(0.02, 0.01);
  EXPECT_EQ(test.Decide(), Decision::kOpen);
  EXPECT_TRUE(std::isinf(test.Bounds().low) && test.Bounds().low < 0);
  EXPECT_TRUE(std::isinf(test.Bounds().high) && test.Bounds().high > 0);
}

// By symmetry alone, six that agree have probability 1/64: no test of this kind may decide.
TEST(SequentialTestTest, SixThatAgreeAreNotEnoughAndEightAre) {
  EXPECT_EQ(TestOf(std::vector<double>(6, 0)).Decide(), Decision::kOpen);
  EXPECT_EQ(TestOf(std::vector<double>(8, 0)).Decide(), Decision::kBelow);
  EXPECT_EQ(TestOf(std::vector<double>(8, 0.05)).Decide(), Decision::kAbove);
}

TEST(SequentialTestTest, WhatLiesAtTheLimitStaysOpen) {
  EXPECT_EQ(TestOf(std::vector<double>(1000, 0.02)).Decide(), Decision::kOpen);
}

TEST(SequentialTestTest, OneThatIsFarAwayCountsOnce) {
  std::vector<double> observations(16, 0);
  observations[5] = 3;
  EXPECT_EQ(TestOf(observations).Decide(), Decision::kBelow);
  observations[6] = 100;
  observations.resize(24);
  EXPECT_EQ(TestOf(observations).Decide(), Decision::kBelow);
}

TEST(SequentialTestTest, IsTheSameTheOtherWayRound) {
  Random random(1);
  std::vector<double> there;
  std::vector<double> back;
  for (int i = 0; i < 30; ++i) {
    there.push_back(random.Uniform(-0.05, 0.06));
    back.push_back(-there.back());
  }
  const SequentialTest::Interval a = TestOf(there).Bounds();
  const SequentialTest::Interval b = TestOf(back).Bounds();
  EXPECT_NEAR(a.low, -b.high, 1e-6);
  EXPECT_NEAR(a.high, -b.low, 1e-6);
  EXPECT_LT(a.low, a.high);
}

TEST(SequentialTestTest, BoundsSayWhatIsDecided) {
  Random random(2);
  SequentialTest test(0.02, 0.01);
  int decided = 0;
  for (int i = 0; i < 60; ++i) {
    test.Add(random.Uniform(-0.03, 0.04));
    const SequentialTest::Interval bounds = test.Bounds();
    const bool is_below = bounds.high < 0.02;
    EXPECT_EQ(test.Decide() == Decision::kBelow, is_below) << i;
    EXPECT_EQ(test.Decide() == Decision::kAbove, bounds.low > 0.02) << i;
    decided += is_below;
  }
  EXPECT_GT(decided, 0);
  EXPECT_LT(decided, 60);
}

}  // namespace
}  // namespace plait
