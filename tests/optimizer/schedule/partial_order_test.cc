#include "optimizer/schedule/partial_order.h"

#include <vector>

#include <gtest/gtest.h>

#include "base/random.h"

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

TEST(PartialOrderTest, KnowsTheFirstStepThatNeedNotHaveFinished) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    Random random(seed);
    PartialOrder order;
    for (int step = 0; step < 150; ++step) {
      std::vector<int> waits;
      if (step > 0 && random.Integer(0, 1) == 0) {
        waits.push_back(static_cast<int>(random.Integer(0, step - 1)));
      }
      order.AddStep(static_cast<int>(random.Integer(0, 2)), random.Integer(0, 9) == 0, waits);
      int first = 0;
      while (order.Precedes(first, step)) ++first;
      EXPECT_EQ(order.FirstNotBefore(step), first) << "seed " << seed << " step " << step;
    }
  }
}

TEST(PartialOrderTest, AStepThatRunsAloneComesAfterAllAndBeforeAll) {
  PartialOrder order;
  for (int step = 0; step < 130; ++step) order.AddStep(step, step == 64 || step == 127, {});
  for (int step = 0; step < 130; ++step) {
    EXPECT_EQ(order.Precedes(step, 64), step < 64) << step;
    EXPECT_EQ(order.Precedes(step, 127), step < 127) << step;
    EXPECT_EQ(order.Precedes(64, step), step > 64) << step;
  }
  EXPECT_FALSE(order.Precedes(65, 66));
}

}  // namespace
}  // namespace plait
