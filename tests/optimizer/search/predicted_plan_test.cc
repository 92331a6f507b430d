#include "optimizer/search/predicted_plan.h"

#include <gtest/gtest.h>

#include "tests/fakes/fake_device.h"

namespace plait {
namespace {

Graph TanhExpChain() {
  return GraphOf(R"(graph {
    input %x: float32[2,8]
    const %w: float32[8,8] = synthetic 1
    %p = MatMul(%x, %w) {}
    %t = Tanh(%p) {}
    %y = Exp(%t) {}
    output %y
  })");
}

TEST(PredictedPlanTest, FusesAndSaysThatItWasPredicted) {
  const absl::StatusOr<PlannedGraph> planned =
      PredictedPlan(TanhExpChain(), FakeDevice(2), FakeCatalog(2), "engine");
  ASSERT_TRUE(planned.ok()) << planned.status();
  EXPECT_TRUE(planned->plan.predicted);
  EXPECT_LT(planned->plan.steps.size(), 3u);
  EXPECT_GT(planned->predicted_us, 0);
  EXPECT_EQ(planned->plan.engine_version, "engine");
  EXPECT_TRUE(CheckPlan(planned->plan, TanhExpChain()).ok());
}

TEST(PredictedPlanTest, ABaselineHasAKernelForEachNode) {
  const absl::StatusOr<PlannedGraph> planned =
      PredictedBaseline(TanhExpChain(), FakeDevice(2), FakeCatalog(2), "engine");
  ASSERT_TRUE(planned.ok()) << planned.status();
  EXPECT_TRUE(planned->plan.predicted);
  EXPECT_EQ(planned->plan.steps.size(), 3u);
}

TEST(PredictedPlanTest, EqualQuestionsHaveEqualAnswers) {
  const FakeCatalog catalog(2);
  const DeviceDescription device = FakeDevice(2);
  EXPECT_EQ(PrintPlan(PredictedPlan(TanhExpChain(), device, catalog, "engine")->plan),
            PrintPlan(PredictedPlan(TanhExpChain(), device, catalog, "engine")->plan));
}

// Nobody has measured its error.
TEST(PredictedPlanTest, HasNoKernelThatNeedsAdmission) {
  FakeCatalog catalog(2);
  catalog.offers_digits = true;
  const absl::StatusOr<PlannedGraph> planned =
      PredictedPlan(TanhExpChain(), FakeDevice(2), catalog, "engine");
  ASSERT_TRUE(planned.ok()) << planned.status();
  for (const Step& step : planned->plan.steps) EXPECT_NE(step.kernel.family, "digits");
}

class FastDigits : public FakeCatalog {
 public:
  FastDigits() : FakeCatalog(2) { offers_digits = true; }
  double ExpectedShare(const Kernel& kernel) const override {
    return kernel.family == "digits" ? 0.9 : 0.3;
  }
};

// Somebody has, in a plan for another device.
TEST(PredictedPlanTest, HasThoseThatAnotherPlanHasAtTheSameLayer) {
  const FastDigits catalog;
  const Graph graph = TanhExpChain();
  Plan measured = PredictedBaseline(graph, FakeDevice(1), FakeCatalog(1), "engine")->plan;
  EXPECT_EQ(measured.steps[0].kernel.nodes, std::vector<NodeId>({0}));
  for (const char* family : {"fake", "digits"}) {
    measured.steps[0].kernel.family = family;
    const absl::StatusOr<PlannedGraph> planned = PredictedPlan(
        graph, FakeDevice(2), catalog, "engine", AdmittedBy(measured, graph, catalog));
    ASSERT_TRUE(planned.ok()) << planned.status();
    EXPECT_EQ(planned->plan.steps[0].kernel.family, family);
  }
}

}  // namespace
}  // namespace plait
