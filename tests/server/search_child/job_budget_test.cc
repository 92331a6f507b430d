#include "server/search_child/job_budget.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "optimizer/onnx/import.h"
#include "tests/optimizer/onnx/model_text.h"

namespace plait {
namespace {

using testing::DoubleNear;
using testing::ElementsAre;

// Of 2 * 1000 * 1000 operations for each row.
Model Product() {
  return *ImportOnnx(GraphBytes(
      17, "g (float[N, 1000] x, float[1000, 1000] w) => (float[N, 1000] z) { z = MatMul(x, w) }"));
}

PlanTarget Rows(int64_t rows) { return {1, {{"x", {rows, 1000}}}}; }

internal::Start Asks(double seconds, double seconds_max) {
  internal::Start start;
  start.mutable_options()->set_budget_seconds(seconds);
  start.set_budget_seconds_max(seconds_max);
  return start;
}

TEST(JobBudgetTest, APlanTakesWhatItsWorkTakes) {
  PlanTarget predicted = Rows(40'000);
  predicted.predicted = true;
  const std::vector<PlanTarget> targets = {Rows(1), Rows(40'000), predicted, {1, {{"y", {1}}}}};
  const Model model = Product();
  EXPECT_THAT(PlanSeconds(model, Bind(model, targets.front().shapes)->graph, targets),
              ElementsAre(kPlanSecondsMin, DoubleNear(320, 1e-6), 0, kPlanSecondsMin));
}

TEST(JobBudgetTest, GrowsWithTheWorkOfTheModel) {
  EXPECT_EQ(JobBudgetSeconds(Asks(60, 600), {15}), 60);
  EXPECT_EQ(JobBudgetSeconds(Asks(60, 600), {320}), 320);
  EXPECT_EQ(JobBudgetSeconds(Asks(60, 600), {8000}), 600);
}

TEST(JobBudgetTest, GrowsWithThePlans) {
  EXPECT_EQ(JobBudgetSeconds(Asks(60, 600), {33, 66, 131, 262}), 60 + 66 + 131 + 262);
  EXPECT_EQ(JobBudgetSeconds(Asks(60, 600), {15, 15, 0}), 75);
}

TEST(JobBudgetTest, IsWhatSomebodyNamed) {
  EXPECT_EQ(JobBudgetSeconds(Asks(20, 20), {800, 800}), 20);
  EXPECT_EQ(JobBudgetSeconds(Asks(400, 400), {800}), 400);
  // A daemon that says nothing of it.
  EXPECT_EQ(JobBudgetSeconds(Asks(60, 0), {8000}), 60);
}

TEST(JobBudgetTest, IsSharedInProportion) {
  const std::vector<double> seconds = {30, 60, 0, 120};
  EXPECT_DOUBLE_EQ(BudgetShare(seconds, 0), 1.0 / 7);
  EXPECT_DOUBLE_EQ(BudgetShare(seconds, 1), 1.0 / 3);
  EXPECT_DOUBLE_EQ(BudgetShare(seconds, 3), 1);
}

}  // namespace
}  // namespace plait
