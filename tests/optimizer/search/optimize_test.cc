#include "optimizer/search/optimize.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "base/status_macros.h"
#include "optimizer/cost/replaying_profiler.h"
#include "tests/optimizer/search/job.h"

namespace plait {
namespace {

// Cells of equal structure, one behind the other.
Graph Cells(int count) {
  std::string text = "graph {\n  input %x0: float32[2,8]\n";
  for (int cell = 0; cell < count; ++cell) {
    const std::string in = "%x" + std::to_string(cell);
    const std::string id = std::to_string(cell + 1);
    text += "  %a" + id + " = Tanh(" + in + ") {}\n";
    text += "  %b" + id + " = Exp(" + in + ") {}\n";
    text += "  %c" + id + " = Add(%a" + id + ", %b" + id + ") {}\n";
    text += "  %x" + id + " = Softmax(%c" + id + ") {axis=1}\n";
  }
  return GraphOf(text + "  output %x" + std::to_string(count) + "\n}\n");
}

int CountOf(const Graph& graph, OpKind op) {
  return static_cast<int>(std::count_if(graph.nodes().begin(), graph.nodes().end(),
                                        [&](const Node& node) { return node.op == op; }));
}

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

// A cell and what `last` says, with a node between them that plait does not understand.
Graph CellsAroundAnOpaqueNode(OpKind last = OpKind::kTanh) {
  GraphBuilder builder;
  const TensorType type{DataType::kFloat32, {2, 8}};
  const auto unary = [&](OpKind op, TensorId input, const std::string& name) {
    Node node;
    node.op = op;
    node.inputs = {input};
    return builder.AddNode(node, {type}, {name})[0];
  };
  TensorId tensor = builder.AddInput(type, "x");
  tensor = unary(OpKind::kTanh, tensor, "a");
  tensor = unary(OpKind::kOpaque, tensor, "b");
  tensor = unary(last, tensor, "c");
  builder.AddOutput(tensor);
  return *std::move(builder).Finish();
}

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
            "candidate 2: 80.32 us, fastest cover, sequential\n");
}

}  // namespace
}  // namespace plait
