#include "server/search_child/unmeasured_plan.h"

#include <gtest/gtest.h>

#include "optimizer/onnx/bind.h"
#include "optimizer/onnx/import.h"
#include "optimizer/search/predicted_plan.h"
#include "server/search_child/job_catalog.h"
#include "tests/optimizer/onnx/model_text.h"

namespace plait {
namespace {

PlanTarget WithRows(int64_t rows, int threads = 1) { return {threads, {{"x", {rows, 8}}}}; }

class UnmeasuredPlanTest : public testing::Test {
 protected:
  // As if one kernel for each node had been found faster, which a prediction would not choose.
  SearchResult Found(const PlanTarget& target, bool improved = true) const {
    SearchResult found;
    found.graph = Bind(model_, target.shapes)->graph;
    found.improved = improved;
    const auto catalog = JobCatalog(start_.options(), device_);
    found.plan = PredictedBaseline(found.graph, device_, **catalog, "test")->plan;
    found.plan.predicted = false;
    found.optimized_latency_us = {100, 110, 120};
    return found;
  }
  UnmeasuredRequest For(const PlanTarget& target, absl::Span<const PlanSource> measured) const {
    return {start_, model_, device_, target, measured};
  }

  const internal::Start start_;
  const Model model_ = *ImportOnnx(
      GraphBytes(17, "g (float[N, 8] x) => (float[N, 8] y) { p = Exp(x) q = Relu(p) y = Neg(q) }"));
  const DeviceDescription device_ = {
      .id = "cpu", .backend = "cpu", .fingerprint = "cpu;test", .instruction_set = "avx2"};
};

TEST_F(UnmeasuredPlanTest, BindsTheFasterPlanOfTheNearestShapes) {
  const PlanTarget two = WithRows(2), four = WithRows(4), eight = WithRows(8);
  const SearchResult of_two = Found(two), of_four = Found(four);
  const PlanSource measured[] = {{two, of_two}, {four, of_four}};
  const absl::StatusOr<NeighbourPlan> bound = PlanOfNeighbour(For(eight, measured));
  ASSERT_TRUE(bound.ok()) << bound.status();
  EXPECT_EQ(bound->source, 1u);
  EXPECT_EQ(bound->found.plan.steps.size(), 3u);
  EXPECT_TRUE(bound->found.plan.predicted);
  EXPECT_EQ(bound->found.graph.type(bound->found.graph.inputs()[0]).shape, Shape({8, 8}));
  EXPECT_TRUE(CheckPlan(bound->found.plan, bound->found.graph).ok());
  EXPECT_GE(bound->found.predicted_us, 110);
}

TEST_F(UnmeasuredPlanTest, BindsNoneThatIsTheOriginalsOrForOtherThreads) {
  const PlanTarget two = WithRows(2), eight = WithRows(8), threads = WithRows(2, 2);
  const SearchResult original = Found(two, false), faster = Found(two);
  const PlanSource measured[] = {{two, original}, {threads, faster}, {eight, faster}};
  EXPECT_TRUE(absl::IsNotFound(PlanOfNeighbour(For(eight, measured)).status()));
}

TEST_F(UnmeasuredPlanTest, PredictsForTheGraphThatWasFoundForTheShapes) {
  const PlanTarget two = WithRows(2), threads = WithRows(2, 2), eight = WithRows(8);
  SearchResult faster = Found(two);
  faster.recipe.rounds.emplace_back();
  const PlanSource measured[] = {{two, faster}};
  const absl::StatusOr<SearchResult> of_threads = PlanByPrediction(For(threads, measured));
  ASSERT_TRUE(of_threads.ok()) << of_threads.status();
  EXPECT_EQ(of_threads->recipe, faster.recipe);
  EXPECT_EQ(of_threads->plan.threads, 2);
  EXPECT_LT(of_threads->plan.steps.size(), 3u) << "kernels are fused";
  const absl::StatusOr<SearchResult> of_eight = PlanByPrediction(For(eight, measured));
  ASSERT_TRUE(of_eight.ok()) << of_eight.status();
  EXPECT_TRUE(of_eight->recipe.empty());
  EXPECT_GT(of_eight->predicted_us, 0);
}

}  // namespace
}  // namespace plait
