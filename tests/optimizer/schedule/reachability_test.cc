#include "optimizer/schedule/reachability.h"

#include <gtest/gtest.h>

#include "base/random.h"

namespace plait {
namespace {

// The example of reachability.cc.
const std::vector<std::vector<int>> kDiamond = {{}, {0}, {0}, {0, 1, 2}, {3, 0}};

TEST(ReachabilityTest, ReducesPredecessors) {
  const Reachability diamond(kDiamond);
  EXPECT_EQ(diamond.ReducedPredecessors(3), (std::vector<int>{1, 2}));
  EXPECT_EQ(diamond.ReducedPredecessors(4), (std::vector<int>{3}));
}

TEST(BottlenecksTest, AreWhatEveryPathPasses) {
  EXPECT_EQ(Bottlenecks(kDiamond), (std::vector<int>{0, 3, 4}));
  EXPECT_EQ(Bottlenecks({}), std::vector<int>{});
  EXPECT_EQ(Bottlenecks({{}, {}}), std::vector<int>{});
  for (uint64_t seed = 0; seed < 100; ++seed) {
    Random random(seed);
    std::vector<std::vector<int>> predecessors;
    for (int launch = 0; launch < 20; ++launch) {
      std::vector<int>& before = predecessors.emplace_back();
      for (int earlier = std::max(0, launch - 3); earlier < launch; ++earlier) {
        if (random.Integer(0, 1) == 0) before.push_back(earlier);
      }
    }
    const Reachability reachability(predecessors);
    std::vector<int> expected;
    for (int launch = 0; launch < 20; ++launch) {
      bool is_bottleneck = true;
      for (int other = 0; other < 20; ++other) {
        is_bottleneck = is_bottleneck && (other == launch || reachability.Reaches(other, launch) ||
                                          reachability.Reaches(launch, other));
      }
      if (is_bottleneck) expected.push_back(launch);
    }
    EXPECT_EQ(Bottlenecks(predecessors), expected) << "seed " << seed;
  }
}

}  // namespace
}  // namespace plait
