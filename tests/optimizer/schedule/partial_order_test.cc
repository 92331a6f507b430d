#include "optimizer/schedule/partial_order.h"

#include <gtest/gtest.h>

namespace plait {
namespace {

TEST(PartialOrderTest, ALaterStepNeverPrecedesAnEarlierOne) {
  // Beyond 64 steps a step's set of predecessors is one word shorter than a later step's index
  // wants.
  PartialOrder order;
  for (int step = 0; step < 200; ++step) order.AddStep(step % 2, false, {});
  for (int earlier = 0; earlier < 200; ++earlier) {
    for (int later = earlier; later < 200; ++later) {
      EXPECT_FALSE(order.Precedes(later, earlier)) << later << " before " << earlier;
    }
  }
}

TEST(PartialOrderTest, OmitsWaitsThatAreImplied) {
  PartialOrder order;
  order.AddStep(0, false, {});
  EXPECT_EQ(order.AddStepThatNeeds(1, false, {0}), (std::vector<int>{0}));
  EXPECT_EQ(order.AddStepThatNeeds(1, false, {0}), (std::vector<int>{}));
  EXPECT_EQ(order.AddStepThatNeeds(2, false, {0, 2}), (std::vector<int>{2}));
  EXPECT_EQ(order.AddStepThatNeeds(0, true, {1, 3}), (std::vector<int>{}));
  EXPECT_TRUE(order.Precedes(3, 4));
  EXPECT_FALSE(order.Precedes(4, 4));
}

}  // namespace
}  // namespace plait
