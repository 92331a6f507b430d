#include "optimizer/search/paired_ratio.h"

#include <gtest/gtest.h>

#include "base/random.h"

namespace plait {
namespace {

TEST(PairedRatioTest, TheIntervalHoldsTheTruthAndNoiseAloneIsNoSpeedup) {
  Random random(1);
  std::vector<double> before_us;
  std::vector<double> after_us;
  std::vector<double> same_us;
  for (int i = 0; i < 40; ++i) {
    before_us.push_back(100 * random.Uniform(0.95, 1.05));
    after_us.push_back(80 * random.Uniform(0.95, 1.05));
    same_us.push_back(100 * random.Uniform(0.95, 1.05));
  }
  const RatioInterval faster = PairedRatio(before_us, after_us, 0);
  EXPECT_LT(faster.low, 1.25);
  EXPECT_GT(faster.high, 1.25);
  EXPECT_GT(faster.low, 1.2);
  EXPECT_LE(PairedRatio(before_us, same_us, 0).low, 1);
}

TEST(PairedRatioTest, IsExactWhereNothingVaries) {
  const RatioInterval none = PairedRatio({}, {}, 0);
  EXPECT_EQ(none.low, 1);
  EXPECT_EQ(none.high, 1);
  // The times vary, their ratio does not.
  const RatioInterval twice = PairedRatio({10, 30, 20}, {5, 15, 10}, 0);
  EXPECT_DOUBLE_EQ(twice.low, 2);
  EXPECT_DOUBLE_EQ(twice.median, 2);
  EXPECT_DOUBLE_EQ(twice.high, 2);
}

TEST(PairedRatioTest, DependsOnTheSeedAlone) {
  const std::vector<double> before_us = {10, 11, 12, 13, 14, 15};
  const std::vector<double> after_us = {10, 10, 10, 10, 10, 10};
  const RatioInterval first = PairedRatio(before_us, after_us, 7);
  const RatioInterval second = PairedRatio(before_us, after_us, 7);
  EXPECT_EQ(first.low, second.low);
  EXPECT_EQ(first.high, second.high);
  EXPECT_DOUBLE_EQ(first.median, 1.25);
  EXPECT_LT(first.low, first.median);
  EXPECT_GT(first.high, first.median);
}

}  // namespace
}  // namespace plait
