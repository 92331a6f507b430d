#include "base/random.h"

#include <limits>

#include "gtest/gtest.h"

namespace plait {
namespace {

TEST(RandomTest, GivesThePublishedNumbers) {
  Random random(1234567);
  EXPECT_EQ(random.Next(), 6457827717110365317u);
  EXPECT_EQ(random.Next(), 3203168211198807973u);
}

TEST(RandomTest, UniformStaysInRange) {
  Random random(1);
  double lowest = 1;
  double highest = 0;
  for (int i = 0; i < 10000; ++i) {
    const double value = random.Uniform();
    lowest = std::min(lowest, value);
    highest = std::max(highest, value);
  }
  EXPECT_GE(lowest, 0);
  EXPECT_LT(lowest, 0.01);
  EXPECT_LT(highest, 1);
  EXPECT_GT(highest, 0.99);
}

TEST(RandomTest, IntegersReachBothEnds) {
  Random random(1);
  bool low = false;
  bool high = false;
  for (int i = 0; i < 1000; ++i) {
    const int64_t value = random.Integer(-2, 3);
    ASSERT_GE(value, -2);
    ASSERT_LE(value, 3);
    low = low || value == -2;
    high = high || value == 3;
  }
  EXPECT_TRUE(low && high);
}

TEST(RandomTest, IntegersCoverTheFullRangeWithoutOverflow) {
  Random random(1);
  Random same(1);
  EXPECT_EQ(
      random.Integer(std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max()),
      static_cast<int64_t>(same.Next()));
}

}  // namespace
}  // namespace plait
