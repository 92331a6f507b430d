#include "optimizer/schedule/reachability.h"

#include <gtest/gtest.h>

namespace plait {
namespace {

TEST(ReachabilityTest, ReducesAndFindsBottlenecks) {
  const Reachability diamond({{}, {0}, {0}, {0, 1, 2}, {3, 0}});
  EXPECT_EQ(diamond.ReducedPredecessors(3), (std::vector<int>{1, 2}));
  EXPECT_EQ(diamond.ReducedPredecessors(4), (std::vector<int>{3}));
  EXPECT_EQ(diamond.Bottlenecks(), (std::vector<int>{0, 3, 4}));
}

}  // namespace
}  // namespace plait
