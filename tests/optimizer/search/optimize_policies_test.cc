#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "optimizer/search/optimize.h"
#include "tests/optimizer/search/cells.h"
#include "tests/optimizer/search/job.h"

// Policies of search and of schedule, by their names and in every combination.

namespace plait {
namespace {

// What systems that only schedule are compared by: their graphs are no strawmen.
TEST(OptimizeTest, PlacesTheNormalFormWithoutASearch) {
  Job sequential;
  sequential.options.search = "normal_form";
  sequential.options.schedule = "sequential";
  Job nimble;
  nimble.options.search = "normal_form";
  nimble.options.schedule = "nimble";
  const absl::StatusOr<SearchResult> in_line = sequential.Run(Cells(3));
  const absl::StatusOr<SearchResult> beside = nimble.Run(Cells(3));
  ASSERT_TRUE(in_line.ok() && beside.ok()) << in_line.status() << beside.status();
  EXPECT_EQ(in_line->schedule, "sequential");
  EXPECT_EQ(beside->schedule, "nimble");
  EXPECT_EQ(beside->origin, "normal_form");
  EXPECT_LT(beside->predicted_us, in_line->predicted_us);
  EXPECT_EQ(beside->candidates, 0);
}

// Add(Tanh(x), Exp(x)) = Neg(x), which takes longer than either branch, and less than both.
Rule BranchesToNeg() {
  Rule rule = kTanhToPair;
  rule.name = "branches_to_neg";
  rule.root = OpKind::kAdd;
  rule.match = [](const Rule&, const Graph& graph, NodeId node) -> Rewrites {
    Rewrite rewrite = ReplaceOp(graph, node, {OpKind::kNeg});
    for (int i = 0; i < 2; ++i) {
      const NodeId branch = graph.producer(node, i);
      rewrite.added[0].inputs = {graph.node(branch).inputs[0]};
      rewrite.removed.insert(rewrite.removed.begin() + i, branch);
    }
    return {rewrite};
  };
  return rule;
}

// The rewrites that a search finds for a device of many streams, whose kernels have one width.
size_t BranchesMerged(const char* search, const char* schedule, double cross_stream_us) {
  const Rule rule = BranchesToNeg();
  const Rule* const rules[] = {&rule};
  Job job(1);
  job.device.streams_max = 16;
  job.device.cross_stream_us = cross_stream_us;
  job.options.rules = rules;
  job.options.search = search;
  job.options.schedule = schedule;
  job.profiler.node_us = {{"Tanh", 100}, {"Exp", 100}, {"Add", 1}, {"Softmax", 1}, {"Neg", 150}};
  const absl::StatusOr<SearchResult> result = job.Run(Cells(1));
  EXPECT_TRUE(result.ok()) << result.status();
  return result.ok() ? result->rules_applied.size() : 0;
}

TEST(OptimizeTest, InLineTheSumDecidesWhateverCouldRunSideBySide) {
  EXPECT_EQ(BranchesMerged("plait", "sequential", 0), 1u);
  EXPECT_EQ(BranchesMerged("plait", "nimble", 0), 0u);
}

// The path is not all where kernels that run side by side wait for each other.
TEST(OptimizeTest, WhereStreamsWaitThatWhichPaysInLineIsTriedToo) {
  EXPECT_EQ(BranchesMerged("plait", "nimble", 60), 1u);
  EXPECT_EQ(BranchesMerged("autograph", "nimble", 60), 0u);
}

TEST(OptimizeTest, EveryCombinationOfPoliciesGivesPlansThatPassTheCheck) {
  for (const char* search : {"none", "normal_form", "taso", "autograph", "plait", "autograph_no_dp",
                             "autograph_no_partition", "autograph_no_path", "plait_generated"}) {
    for (const SchedulePolicy* schedule : AllPolicies()) {
      Job job;
      job.options.search = search;
      job.options.schedule = std::string(schedule->name);
      const absl::StatusOr<SearchResult> result = job.Run(Cells(3));
      ASSERT_TRUE(result.ok()) << result.status();
      // Nothing of these cells is fused, so in line they are the baseline.
      const bool is_baseline =
          job.options.search == "none" ||
          (job.options.search == "normal_form" && schedule == &kSequentialPolicy);
      EXPECT_EQ(result->improved, !is_baseline);
      EXPECT_TRUE(job.verifier.plan_errors.empty()) << job.verifier.plan_errors[0];
      EXPECT_TRUE(CheckPlan(result->plan, result->graph).ok());
      EXPECT_TRUE(CheckPlan(result->baseline_plan, Cells(3)).ok());
    }
  }
}

// Notes which candidates were verified, in their order.
class RememberingVerifier : public FakeVerifier {
 public:
  absl::StatusOr<std::vector<CandidateMeasurement>> Verify(
      absl::Span<const PlanCandidate> candidates, const VerificationBatch& batch) override {
    if (graphs.empty()) {
      for (const PlanCandidate& candidate : candidates) graphs.push_back(candidate.graph);
    }
    return FakeVerifier::Verify(candidates, batch);
  }

  std::vector<Graph> graphs;  // of the first batch
};

// Two branches of 20 us each. Side by side they take 20 us, which the simulator sees; Graham's
// bound is (40 + 20) / 2. With Neg in the place of Tanh the bound is (36 + 18) / 2 = 27 us: more
// than the makespan of the graph that is not rewritten, but less than its bound.
TEST(OptimizeTest, AutographComparesAllGraphsOnOneScale) {
  Rule to_neg = kTanhToPair;
  to_neg.match = [](const Rule&, const Graph& graph, NodeId node) -> Rewrites {
    return {ReplaceOp(graph, node, {OpKind::kNeg})};
  };
  const Rule* const rules[] = {&to_neg};
  Job job;
  job.options.rules = rules;
  job.options.search = "autograph";
  job.profiler.node_us = {{"Tanh", 10}, {"Neg", 8.5}};
  const Graph graph = GraphOf(R"(graph {
    input %x: float32[2,8]
    input %u: float32[2,8]
    %a = Softmax(%x) {axis=1}
    %b = Softmax(%u) {axis=1}
    %c = Tanh(%a) {}
    %d = Tanh(%b) {}
    output %c, %d
  })");
  RememberingVerifier verifier;
  UnlimitedBudget forever;
  const auto result = job.Run(graph, job.profiler, verifier, forever);
  ASSERT_TRUE(result.ok()) << result.status();
  ASSERT_GT(verifier.graphs.size(), 2u);
  EXPECT_EQ(CountOf(verifier.graphs[1], OpKind::kNeg), 2) << result->trace;
  // Every graph has a turn before any has a second plan.
  EXPECT_EQ(CountOf(verifier.graphs[2], OpKind::kNeg), 0) << result->trace;
}

TEST(OptimizeTest, UnknownPoliciesAreRefused) {
  Job job;
  job.options.search = "magic";
  EXPECT_EQ(job.Run(Cells(1)).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(job.Run(CellsAroundAnOpaqueNode()).status().code(), absl::StatusCode::kInvalidArgument);
  job.options.search = "plait";
  job.options.schedule = "magic";
  EXPECT_EQ(job.Run(Cells(1)).status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace plait
