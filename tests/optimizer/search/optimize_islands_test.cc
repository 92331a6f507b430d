#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/status_macros.h"
#include "optimizer/search/optimize.h"
#include "tests/optimizer/search/cells.h"
#include "tests/optimizer/search/job.h"

// Graphs with nodes that plait does not understand, between which the islands are optimized.

namespace plait {
namespace {

TEST(OptimizeTest, IslandsBetweenOpaqueNodesAreVerifiedOneByOne) {
  Job job;
  const absl::StatusOr<SearchResult> result = job.Run(CellsAroundAnOpaqueNode());
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_TRUE(result->improved);
  EXPECT_TRUE(result->plan.steps.empty());
  EXPECT_EQ(CountOf(result->graph, OpKind::kNeg), 2);
  EXPECT_EQ(CountOf(result->graph, OpKind::kOpaque), 1);
  EXPECT_EQ(result->equivalence.verdict, Verdict::kEquivalent);
  EXPECT_TRUE(result->equivalence.outputs.empty()) << "the islands' are not the graph's";
  EXPECT_EQ(result->load_ms, 4) << "of both islands";
  // The interval is no wider than that of one cell by itself.
  Job whole;
  const absl::StatusOr<SearchResult> cell = whole.Run(Cells(1));
  ASSERT_TRUE(cell.ok()) << cell.status();
  EXPECT_NEAR(result->speedup.median, cell->speedup.median, 0.02);
  EXPECT_NEAR(result->speedup.low, cell->speedup.low, 0.02);
  EXPECT_NEAR(result->speedup.high, cell->speedup.high, 0.02);
  EXPECT_EQ(*result->graph.tensor(result->graph.outputs()[0]).name, "c");
  EXPECT_EQ(job.progress.last_fraction, 1);
}

// In the first load that decides, all candidates are disturbed.
class DisturbedVerifier : public FakeVerifier {
 public:
  absl::StatusOr<std::vector<CandidateMeasurement>> Verify(
      absl::Span<const PlanCandidate> candidates, const VerificationBatch& batch) override {
    PLAIT_ASSIGN_OR_RETURN(std::vector<CandidateMeasurement> measured,
                           FakeVerifier::Verify(candidates, batch));
    for (size_t i = 1; batch.loads > 1 && i < measured.size(); ++i) {
      for (int round = 0; round < batch.rounds; ++round) measured[i].latency_us[round] *= 2.2;
    }
    return measured;
  }
};

TEST(OptimizeTest, AnIslandThatStaysTakesNothingFromWhatAnotherGained) {
  Job job;
  DisturbedVerifier verifier;
  UnlimitedBudget budget;
  const absl::StatusOr<SearchResult> result =
      job.Run(CellsAroundAnOpaqueNode(OpKind::kNeg), job.profiler, verifier, budget);
  ASSERT_TRUE(result.ok()) << result.status();
  ASSERT_TRUE(result->improved);
  // The second is measured in a single load, beside which the first has five that were quiet.
  EXPECT_GT(result->speedup.median, 1.2);
  EXPECT_GT(result->speedup.certain, 1);
}

TEST(OptimizeTest, EachIslandHasAPlanAndTheNamesOfTheWhole) {
  Job job;
  const absl::StatusOr<SearchResult> result = job.Run(CellsAroundAnOpaqueNode());
  ASSERT_TRUE(result.ok()) << result.status();
  ASSERT_EQ(result->islands.size(), 2u);
  const std::vector<std::string> ends = {"x", "a", "b", "c"};
  for (size_t i = 0; i < 2; ++i) {
    const PlannedIsland& island = result->islands[i];
    EXPECT_EQ(CheckPlan(island.plan, island.graph), absl::OkStatus());
    EXPECT_EQ(CheckPlan(island.baseline_plan, island.original), absl::OkStatus());
    EXPECT_EQ(CountOf(island.original, OpKind::kTanh), 1);
    EXPECT_EQ(CountOf(island.graph, OpKind::kNeg), 1);
    for (const Graph& graph : {island.original, island.graph}) {
      EXPECT_EQ(*graph.tensor(graph.inputs()[0]).name, ends[2 * i]);
      EXPECT_EQ(*graph.tensor(graph.outputs()[0]).name, ends[2 * i + 1]);
    }
  }
}

// Of a simulated device: nothing is timed of any of them.
TEST(OptimizeTest, PredictionsOfIslandsAddUp) {
  Job job;
  job.is_predicted = true;
  job.options.verification.predicted_draws_us = [](const PlanCandidate& candidate) {
    return std::vector<double>{candidate.predicted_us / 2, candidate.predicted_us * 2};
  };
  const absl::StatusOr<SearchResult> result = job.Run(CellsAroundAnOpaqueNode());
  ASSERT_TRUE(result.ok()) << result.status();
  ASSERT_EQ(result->islands.size(), 2u);
  EXPECT_TRUE(result->improved);
  EXPECT_EQ(result->equivalence.verdict, Verdict::kEquivalent);
  EXPECT_GT(result->predicted_us, 0);
  EXPECT_NEAR(result->speedup.median, result->predicted_baseline_us / result->predicted_us, 1e-9);
  EXPECT_EQ(result->candidates_measured, 0);
  ASSERT_EQ(result->baseline_draws_us.size(), 2u);
  EXPECT_NEAR(result->baseline_draws_us[0], result->predicted_baseline_us / 2, 1e-9);
  ASSERT_EQ(result->optimized_draws_us.size(), 2u);
  EXPECT_NEAR(result->optimized_draws_us[1], result->predicted_us * 2, 1e-9);
  for (const PlannedIsland& island : result->islands) EXPECT_TRUE(island.plan.predicted);
}

}  // namespace
}  // namespace plait
