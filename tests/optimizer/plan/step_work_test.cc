#include "optimizer/plan/step_work.h"

#include <gtest/gtest.h>

#include "tests/optimizer/plan/sample_plan.h"

namespace plait {
namespace {

constexpr int64_t kValueBytes = 16 * 4 * 4 * 4;

TEST(StepWorkTest, CountsWhatAStepComputesAndMoves) {
  const Graph graph = SampleGraph();
  const Plan plan = SamplePlan(graph);
  // Add: one operation per element, two inputs and one output.
  const Step& add = plan.steps[3];
  EXPECT_EQ(FlopsOf(add, graph), 256);
  EXPECT_EQ(OffchipBytes(add, plan, graph), 3 * kValueBytes);
  EXPECT_FALSE(IsCopy(add, plan, graph));
}

TEST(StepWorkTest, AViewIsNoCopyAndAReorderIs) {
  const Graph graph = SampleGraph();
  const Plan plan = SamplePlan(graph);
  for (const Step& step : plan.steps) EXPECT_FALSE(IsCopy(step, plan, graph));
  int copies = 0;
  const Plan reordering = ReorderingPlan(graph);
  for (const Step& step : reordering.steps) copies += IsCopy(step, reordering, graph) ? 1 : 0;
  EXPECT_EQ(copies, 2);
}

TEST(StepWorkTest, APlanMovesWhatItsStepsMove) {
  const Graph graph = SampleGraph();
  const Plan plan = SamplePlan(graph);
  int64_t bytes = 0;
  for (const Step& step : plan.steps) bytes += OffchipBytes(step, plan, graph);
  EXPECT_EQ(OffchipBytes(plan, graph), bytes);
  EXPECT_EQ(bytes, 13 * kValueBytes + 2 * static_cast<int64_t>(sizeof(int64_t)));
}

TEST(StepWorkTest, AWeightThatIsReadTwiceCountsOnce) {
  const Graph graph = GraphOf(R"(graph {
  input %x: float32[4,4]
  const %w: float32[4,4] = synthetic 1
  %a: float32[4,4] = MatMul(%w, %w) {}
  %y: float32[4,4] = Add(%x, %a) {}
  output %y
}
)");
  Step step;
  step.kernel.nodes = {0, 1};
  EXPECT_EQ(WeightsOf(step, graph).size(), 1);
}

}  // namespace
}  // namespace plait
