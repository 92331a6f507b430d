#include "optimizer/plan/step_clocks.h"

#include <algorithm>
#include <utility>

#include <gtest/gtest.h>

#include "base/random.h"
#include "optimizer/schedule/partial_order.h"

namespace plait {
namespace {

void AddStep(Plan& plan, int stream, int width, std::vector<int> waits) {
  Step step;
  step.stream = stream;
  step.kernel.width = width;
  step.waits = std::move(waits);
  plan.steps.push_back(std::move(step));
}

// The worked example of step_clocks.cc.
TEST(StepClocksTest, FollowsStreamsWaitsAndFullWidthSteps) {
  Plan plan;
  plan.threads = 2;
  plan.streams = 2;
  AddStep(plan, 0, 1, {});
  AddStep(plan, 1, 1, {});
  AddStep(plan, 0, 1, {1});
  AddStep(plan, 1, 1, {});
  AddStep(plan, 1, 1, {2});
  AddStep(plan, 0, 2, {});
  AddStep(plan, 1, 1, {});
  const StepClocks clocks(plan);
  const std::vector<std::pair<int, int>> ordered = {{0, 2}, {1, 2}, {1, 3}, {0, 4},
                                                    {1, 4}, {2, 4}, {3, 4}};
  for (int later = 0; later < 7; ++later) {
    for (int earlier = 0; earlier < 7; ++earlier) {
      const bool around_barrier = earlier < later && (later >= 5);
      const bool expected = around_barrier || std::find(ordered.begin(), ordered.end(),
                                                        std::pair(earlier, later)) != ordered.end();
      EXPECT_EQ(clocks.Precedes(earlier, later), expected) << earlier << " before " << later;
    }
  }
}

// Two ways to the same order: a bit per pair, and a number per step and stream.
TEST(StepClocksTest, AgreesWithThePartialOrderOnRandomPlans) {
  for (uint64_t seed = 0; seed < 100; ++seed) {
    Random random(seed);
    Plan plan;
    plan.threads = 2;
    plan.streams = static_cast<int>(random.Integer(1, 5));
    PartialOrder order;
    const int count = static_cast<int>(random.Integer(1, 100));
    for (int step = 0; step < count; ++step) {
      const int stream = static_cast<int>(random.Integer(0, plan.streams - 1));
      const bool alone = random.Integer(0, 9) == 0;
      std::vector<int> waits;
      for (int64_t wait = random.Integer(0, 2); wait > 0 && step > 0; --wait) {
        waits.push_back(static_cast<int>(random.Integer(0, step - 1)));
      }
      AddStep(plan, stream, alone ? 2 : 1, waits);
      order.AddStep(stream, alone, waits);
    }
    const StepClocks clocks(plan);
    for (int later = 0; later < count; ++later) {
      for (int earlier = 0; earlier < count; ++earlier) {
        EXPECT_EQ(clocks.Precedes(earlier, later), order.Precedes(earlier, later))
            << "seed " << seed << ": " << earlier << " before " << later;
      }
    }
  }
}

}  // namespace
}  // namespace plait
