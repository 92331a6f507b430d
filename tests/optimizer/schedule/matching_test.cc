#include "optimizer/schedule/matching.h"

#include <gtest/gtest.h>

namespace plait {
namespace {

TEST(MatchingTest, AugmentsAlongAlternatingPaths) {
  EXPECT_EQ(MaximumMatching({{0}, {0, 1}, {1, 2}}, 3), (std::vector<int>{0, 1, 2}));
  EXPECT_EQ(MaximumMatching({{0, 1}, {0}, {0}}, 2), (std::vector<int>{1, 0, -1}));
}

}  // namespace
}  // namespace plait
