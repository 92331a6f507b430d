#include "optimizer/search/optimize.h"

#include <algorithm>
#include <functional>
#include <vector>

#include <gtest/gtest.h>

#include "optimizer/cost/replaying_profiler.h"
#include "tests/optimizer/search/cells.h"
#include "tests/optimizer/search/job.h"

namespace plait {
namespace {

TEST(OptimizeTest, RewritesEveryCellAndCountsTheRules) {
  Job job;
  const absl::StatusOr<SearchResult> result = job.Run(Cells(5));
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_TRUE(result->improved);
  EXPECT_EQ(CountOf(result->graph, OpKind::kNeg), 5) << result->trace;
  EXPECT_EQ(result->rules_applied, (RuleCounts{{"pair_to_neg", 5}, {"tanh_to_pair", 5}}));
  EXPECT_GT(result->speedup.low, 1.9);
  EXPECT_LT(result->predicted_us, result->predicted_baseline_us);
  EXPECT_TRUE(job.verifier.plan_errors.empty()) << job.verifier.plan_errors[0];
  EXPECT_EQ(job.progress.last_fraction, 1);
  EXPECT_EQ(result->origin, "searched");
  EXPECT_GT(result->regions, 0);
  EXPECT_LE(result->regions_solved, result->regions);
  EXPECT_EQ(result->baseline_load_ms, 2);
  EXPECT_EQ(result->load_ms, 2);
  EXPECT_EQ(result->equivalence.outputs.size(), 1u);
}

TEST(OptimizeTest, TellsEachBetterPredictionOnce) {
  Job job;
  const absl::StatusOr<SearchResult> result = job.Run(Cells(5));
  ASSERT_TRUE(result.ok()) << result.status();
  const std::vector<double>& predicted = job.progress.predicted;
  ASSERT_FALSE(predicted.empty());
  EXPECT_EQ(std::adjacent_find(predicted.begin(), predicted.end(), std::greater_equal<double>()),
            predicted.end());
  EXPECT_GE(predicted.back(), result->predicted_baseline_us / result->predicted_us);
}

TEST(OptimizeTest, SaysWhenTheBaselineIsReturned) {
  Job job;
  job.options.search = "none";
  const absl::StatusOr<SearchResult> result = job.Run(Cells(2));
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->origin, "baseline");
  EXPECT_EQ(result->schedule, "sequential");
  EXPECT_TRUE(job.progress.predicted.empty());
}

// Profiles of a slow and of a fast hour of the machine may meet: measuring decides, not predicting.
TEST(OptimizeTest, MeasuresAlsoWhatItPredictsToBeSlower) {
  Rule to_neg = kTanhToPair;
  to_neg.always_wins = true;
  to_neg.match = [](const Rule&, const Graph& graph, NodeId node) -> Rewrites {
    return {ReplaceOp(graph, node, {OpKind::kNeg})};
  };
  const Rule* const rules[] = {&to_neg};
  Job job(1);
  job.options.rules = rules;
  job.profiler.node_us = {{"Tanh", 10}, {"Neg", 1000}};
  const absl::StatusOr<SearchResult> result = job.Run(Cells(1));
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_GT(result->predicted_us, result->predicted_baseline_us);
  EXPECT_TRUE(result->improved) << result->trace;
}

// What is predicted was planned: seconds of planning are not those of rewriting.
TEST(OptimizeTest, TellsWhenItPlansWhatItHasFound) {
  Job job;
  ASSERT_TRUE(job.Run(Cells(5)).ok());
  EXPECT_EQ(job.progress.predicted_in, (std::set<std::string>{"schedule"}));
  std::vector<std::string> expected = {"baseline", "canonicalize", "schedule"};
  for (int round = 0; round < 2; ++round) {
    expected.insert(expected.end(), {"search", "schedule"});
  }
  expected.insert(expected.end(), {"verify", "done"});
  EXPECT_EQ(job.progress.phases, expected);
}

// Tanh and Floor come to lie in different leaves of two nodes, and Ceil and Floor, which some rule
// matches, in one: the graph has to be cut anew once Tanh has become Ceil.
TEST(OptimizeTest, SearchesTheBestGraphAgainUntilItStaysTheBest) {
  Rule to_ceil = kTanhToPair;
  to_ceil.match = [](const Rule&, const Graph& graph, NodeId node) -> Rewrites {
    return {ReplaceOp(graph, node, {OpKind::kCeil})};
  };
  const Rule* const rules[] = {&to_ceil, &kPairToNeg};
  Job job(1);
  job.options.rules = rules;
  job.options.search = "autograph";
  job.options.partition = {.leaf_nodes_max = 2, .interval_nodes_max = 0};
  const absl::StatusOr<SearchResult> result = job.Run(GraphOf(R"(graph {
    input %x: float32[2,8]
    %a = Softmax(%x) {axis=1}
    %b = Tanh(%a) {}
    %c = Floor(%b) {}
    %d = Softmax(%c) {axis=1}
    output %d
  })"));
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(CountOf(result->graph, OpKind::kNeg), 1) << result->trace;
  EXPECT_NE(result->trace.find("round 2: from"), std::string::npos) << result->trace;
}

TEST(OptimizeTest, NeverReturnsASlowerGraph) {
  Job job;
  job.verifier.candidate_factor = 1.02;
  const Graph graph = Cells(3);
  const absl::StatusOr<SearchResult> result = job.Run(graph);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_FALSE(result->improved);
  EXPECT_GT(result->candidates_measured, 0);
  EXPECT_EQ(result->graph.fingerprint(), graph.fingerprint());
  EXPECT_EQ(result->plan, result->baseline_plan);
  EXPECT_EQ(result->speedup.median, 1);
  EXPECT_TRUE(result->rules_applied.empty());
  ASSERT_FALSE(result->refused.empty());
  EXPECT_EQ(result->refused[0].reason, RefusalReason::kNotFaster);
}

TEST(OptimizeTest, NeverReturnsAGraphWithOtherOutputs) {
  for (const Verdict verdict : {Verdict::kDifferent, Verdict::kInconclusive}) {
    Job job;
    job.verifier.verdict = verdict;
    const absl::StatusOr<SearchResult> result = job.Run(Cells(3));
    ASSERT_TRUE(result.ok()) << result.status();
    EXPECT_FALSE(result->improved);
    ASSERT_FALSE(result->refused.empty()) << "the original is not returned in silence";
    EXPECT_EQ(RefusalReasonName(result->refused[0].reason), VerdictName(verdict));
    EXPECT_GT(result->refused[0].predicted_speedup, 1);
    EXPECT_NE(result->trace.find("refused: a plan of"), std::string::npos) << result->trace;
  }
}

TEST(OptimizeTest, ReturnsAGraphWhoseOutputsProveLittleWhereThatIsAccepted) {
  Job job;
  job.verifier.verdict = Verdict::kInconclusive;
  job.options.verification.accept_inconclusive = true;
  const absl::StatusOr<SearchResult> result = job.Run(Cells(3));
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_TRUE(result->improved);
  EXPECT_EQ(result->equivalence.verdict, Verdict::kInconclusive);
}

TEST(OptimizeTest, EqualRegionsAreSolvedOnce) {
  Job few;
  Job many;
  const absl::StatusOr<SearchResult> of_few = few.Run(Cells(3));
  const absl::StatusOr<SearchResult> of_many = many.Run(Cells(12));
  ASSERT_TRUE(of_few.ok() && of_many.ok());
  EXPECT_EQ(of_few->candidates, of_many->candidates);
  EXPECT_EQ(few.profiles_measured, many.profiles_measured);
  EXPECT_EQ(CountOf(of_many->graph, OpKind::kNeg), 12);
}

TEST(OptimizeTest, TheResultDoesNotDependOnTheNumberOfThreads) {
  Job reference;
  const absl::StatusOr<SearchResult> one = reference.Run(Cells(6));
  ASSERT_TRUE(one.ok()) << one.status();
  for (const int threads : {2, 8}) {
    Job job;
    job.options.threads = threads;
    const absl::StatusOr<SearchResult> result = job.Run(Cells(6));
    ASSERT_TRUE(result.ok()) << result.status();
    ExpectSame(*one, *result);
    EXPECT_EQ(job.profiler.measured, reference.profiler.measured);
    EXPECT_EQ(job.log.ToText(), reference.log.ToText());
  }
}

TEST(OptimizeTest, ReplayFromTheLogGivesTheSameResultWithoutADevice) {
  for (const int64_t steps : {0, 1, 2, 3, 1000}) {
    Job recorded;
    ShortBudget budget(steps);
    const auto original = recorded.Run(Cells(4), recorded.profiler, recorded.verifier, budget);
    ASSERT_TRUE(original.ok()) << original.status();
    EXPECT_EQ(original->budget_exhausted, steps < 3) << steps;

    const absl::StatusOr<MeasurementLog> log = MeasurementLog::Parse(recorded.log.ToText());
    ASSERT_TRUE(log.ok()) << log.status();
    ReplayingProfiler profiler(*log);
    ReplayingVerifier verifier(*log);
    ReplayingBudget replayed(*log);
    Job replay;
    replay.options.threads = 3;
    const auto repeated = replay.Run(Cells(4), profiler, verifier, replayed);
    ASSERT_TRUE(repeated.ok()) << repeated.status();
    ExpectSame(*original, *repeated);
    EXPECT_EQ(replay.log.ToText(), recorded.log.ToText());
  }
}

// Its kernels were not all tried, so that beating it would prove nothing.
TEST(OptimizeTest, ReturnsTheOriginalWhenTheBudgetEndsBeforeItsKernelsAreMeasured) {
  Job job;
  ShortBudget budget(0);
  const Graph graph = Cells(5);
  const auto result = job.Run(graph, job.profiler, job.verifier, budget);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_FALSE(result->improved);
  EXPECT_TRUE(result->budget_exhausted);
  EXPECT_GT(result->seconds_needed, 0);
  EXPECT_EQ(result->candidates_measured, 0);
  EXPECT_EQ(result->graph.fingerprint(), graph.fingerprint());
  EXPECT_TRUE(CheckPlan(result->plan, graph).ok());
  EXPECT_GT(result->predicted_us, 0);
  // One kernel of each operator.
  EXPECT_EQ(job.profiles_measured, 4);
}

TEST(OptimizeTest, ALogOfAnotherModelIsRefused) {
  Job recorded;
  ASSERT_TRUE(recorded.Run(Cells(4)).ok());
  ReplayingProfiler profiler(recorded.log);
  ReplayingVerifier verifier(recorded.log);
  ReplayingBudget budget(recorded.log);
  Job replay;
  EXPECT_FALSE(replay.Run(Cells(5), profiler, verifier, budget).ok());
}

TEST(OptimizeTest, TheTraceTellsWhatWasDecided) {
  Job job(1);
  const absl::StatusOr<SearchResult> result = job.Run(Cells(2));
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->trace.substr(0, result->trace.find("chosen")),
            "baseline: 80 us\n"
            "leaf 0: 0 1 2 3\n"
            "leaf 1: 4 5 6 7\n"
            "rewritten, 64 us: pair_to_neg x2 tanh_to_pair x2\n"
            "rewritten, 80.32 us: tanh_to_pair x1\n"
            "round 2: from 64 us\n"
            "leaf 0: 0 1 2 3\n"
            "leaf 1: 4 5 6 7\n"
            "rewritten, 64 us:\n"
            "candidate 1: 64 us, fastest cover, sequential\n"
            "candidate 2: 80.32 us, fastest cover, sequential\n"
            "measured: candidate 1, predicted 64 us, took 50.0252 us, speedup 2.00004\n"
            "measured: candidate 2, predicted 80.32 us, took 59.9459 us, speedup 1.67134\n");
}

}  // namespace
}  // namespace plait
