#include "optimizer/cost/measuring_rules.h"

#include <limits>

#include <gtest/gtest.h>

namespace plait {
namespace {

TEST(RunsOfRoundTest, AShortPlanRunsUntilTheCachesHoldWhatItReads) {
  EXPECT_EQ(RunsOfRound(1'100), (RoundRuns{6, 3}));
  EXPECT_EQ(RunsOfRound(3'000), (RoundRuns{2, 3}));
  EXPECT_EQ(RunsOfRound(8'000), (RoundRuns{1, 3}));
}

TEST(RunsOfRoundTest, AVeryShortOneReadsTooLittleToRunForAsLong) {
  EXPECT_EQ(RunsOfRound(1), (RoundRuns{8, 3}));
  EXPECT_EQ(RunsOfRound(0), (RoundRuns{8, 3}));
}

TEST(RunsOfRoundTest, ALongPlanIsTimedInEachRun) {
  EXPECT_EQ(RunsOfRound(20'000), RoundRuns());
  EXPECT_EQ(RunsOfRound(std::numeric_limits<double>::quiet_NaN()), RoundRuns());
}

}  // namespace
}  // namespace plait
