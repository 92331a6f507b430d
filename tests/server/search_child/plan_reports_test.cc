#include "server/search_child/plan_reports.h"

#include <gtest/gtest.h>

#include "tests/fakes/fake_device.h"

namespace plait {
namespace {

SearchResult Found() {
  SearchResult found;
  found.graph = GraphOf("graph {\n  input %x: float32[8]\n  %y = Relu(%x)\n  output %y\n}");
  found.plan.steps = {{}};
  found.predicted_us = 20;
  found.optimized_latency_us = {24, 25, 26};
  found.speedup = {.median = 2, .certain = 1.8, .low = 1.9, .high = 2.1};
  return found;
}

v1::PlanReport ReportOfPlan(const PlanTarget& target) {
  const SearchResult found = Found();
  v1::Report report;
  SetPlanReports({"cpu", target, found, {}, {}}, &report);
  return report.plans(0);
}

TEST(PlanReportsTest, APlanHasWhatWasMeasuredBesideWhatWasPredicted) {
  const v1::PlanReport plan = ReportOfPlan({.threads = 2});
  EXPECT_EQ(plan.threads(), 2);
  EXPECT_FALSE(plan.predicted());
  EXPECT_EQ(plan.latency_us_median(), 25);
  EXPECT_EQ(plan.predicted_us(), 20);
  EXPECT_EQ(plan.speedup(), 2);
}

TEST(PlanReportsTest, APredictedPlanHasNoLatency) {
  const v1::PlanReport plan = ReportOfPlan({.predicted = true});
  EXPECT_TRUE(plan.predicted());
  EXPECT_EQ(plan.latency_us_median(), 0);
  EXPECT_EQ(plan.predicted_us(), 20);
  EXPECT_EQ(plan.speedup(), 0);
}

}  // namespace
}  // namespace plait
