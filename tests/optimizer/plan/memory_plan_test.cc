#include "optimizer/plan/memory_plan.h"

#include <gtest/gtest.h>

namespace plait {
namespace {

TEST(MemoryPlanTest, AChainNeedsTwoBuffers) {
  PartialOrder order;
  std::vector<MemoryRequest> requests;
  for (int step = 0; step < 6; ++step) {
    order.AddStep(0, false, {});
    requests.push_back({100, step, step < 5 ? std::vector<int>{step + 1} : std::vector<int>{}});
  }
  EXPECT_EQ(PlanMemory(requests, order).arena_bytes, 2 * 128);
}

// The worked example of memory_plan.cc.
TEST(MemoryPlanTest, TheLargestChoosesFirst) {
  PartialOrder order;
  for (int step = 0; step < 4; ++step) order.AddStep(0, false, {});
  const MemoryPlan plan = PlanMemory({{128, 0, {1}}, {256, 1, {2}}, {64, 2, {3}}}, order);
  EXPECT_EQ(plan.offsets_bytes, (std::vector<int64_t>{256, 0, 256}));
  EXPECT_EQ(plan.arena_bytes, 384);
}

TEST(MemoryPlanTest, StepsThatMayOverlapInTimeShareNothing) {
  PartialOrder order;
  order.AddStep(0, false, {});
  order.AddStep(1, false, {});
  const MemoryPlan plan = PlanMemory({{64, 0, {}}, {64, 1, {}}}, order);
  EXPECT_EQ(plan.arena_bytes, 128);
  EXPECT_NE(plan.offsets_bytes[0], plan.offsets_bytes[1]);
}

}  // namespace
}  // namespace plait
