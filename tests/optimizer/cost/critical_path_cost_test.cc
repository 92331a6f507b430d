#include "optimizer/cost/critical_path_cost.h"

#include <gtest/gtest.h>

namespace plait {
namespace {

TEST(CriticalPathCostTest, AddsAllAndFollowsTheLongestPath) {
  // A diamond: 1 -> (5 | 2) -> 3.
  const PathCost cost = MeasurePaths({{1, {}}, {5, {0}}, {2, {0}}, {3, {1, 2}}});
  EXPECT_DOUBLE_EQ(cost.total_us, 11);
  EXPECT_DOUBLE_EQ(cost.critical_us, 9);
  EXPECT_DOUBLE_EQ(cost.ParallelBoundUs(1), 11);
  EXPECT_DOUBLE_EQ(cost.ParallelBoundUs(2), 10);
}

}  // namespace
}  // namespace plait
