#include "optimizer/search/check_shapes.h"

#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/substitute.h"
#include "optimizer/cost/replaying_profiler.h"
#include "optimizer/rules/rule.h"
#include "optimizer/search/predicted_plan.h"
#include "tests/optimizer/search/job.h"
#include "tests/optimizer/search/scripted_verifier.h"

namespace plait {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Graph Rows(int64_t rows) {
  return GraphOf(absl::Substitute(R"(graph {
    input %x: float32[$0,8]
    %a = Exp(%x) {}
    %b = Tanh(%a) {}
    %c = Add(%x, %b) {}
    output %c
  })",
                                  rows));
}

// Of two rows says what the fake device does. Of others that a candidate differs at some numbers of
// rows, and does not run where a kernel is of a family that takes two rows only; writes down at how
// many rows it was asked.
class RowsVerifier : public FakeVerifier {
 public:
  absl::StatusOr<std::vector<CandidateMeasurement>> Verify(
      absl::Span<const PlanCandidate> candidates, const VerificationBatch& batch) override {
    const Graph& graph = candidates.back().graph;
    const int64_t rows = graph.type(graph.inputs()[0]).shape[0];
    if (rows == 2) return FakeVerifier::Verify(candidates, batch);
    asked.push_back(rows);
    if (!status.ok()) return status;
    std::vector<CandidateMeasurement> measured(candidates.size());
    for (size_t i = 0; i < candidates.size(); ++i) {
      EXPECT_TRUE(CheckPlan(candidates[i].plan, candidates[i].graph).ok());
      measured[i].equivalence.verdict =
          wrong.contains(rows) ? Verdict::kDifferent : Verdict::kEquivalent;
      for (const Step& step : candidates[i].plan.steps) {
        if (step.kernel.family == "of_two_rows") measured[i].error = "takes two rows only";
      }
    }
    return measured;
  }

  std::set<int64_t> wrong;
  absl::Status status;
  std::vector<int64_t> asked;
};

class CheckShapesTest : public testing::Test {
 protected:
  bool IsRight(Budget& budget, const RewriteRecipe& recipe = {}) {
    const std::vector<Graph> others = {Rows(3), Rows(5)};
    ShapeCheck check(others, {device_, catalog_, "test", verifier_, budget, log_, trace_});
    const bool is_right = check.IsRight(candidate_, recipe, 0);
    equal_ = check.shapes_equal();
    left_ = check.shapes_left();
    return is_right;
  }
  bool IsRight(const RewriteRecipe& recipe = {}) {
    UnlimitedBudget forever;
    return IsRight(forever, recipe);
  }

  PlanCandidate Candidate() const {
    const absl::StatusOr<PlannedGraph> planned = PredictedPlan(Rows(2), device_, catalog_, "test");
    EXPECT_TRUE(planned.ok()) << planned.status();
    return {"candidate", Rows(2), planned->plan, planned->predicted_us};
  }

  const DeviceDescription device_ = FakeDevice(2);
  const FakeCatalog catalog_{2};
  PlanCandidate candidate_ = Candidate();
  RowsVerifier verifier_;
  MeasurementLog log_;
  std::string trace_;
  int equal_ = 0;
  int left_ = 0;
};

TEST_F(CheckShapesTest, ComparesAtEachShape) {
  EXPECT_TRUE(IsRight());
  EXPECT_THAT(verifier_.asked, ElementsAre(3, 5));
  EXPECT_EQ(equal_, 2);
  EXPECT_EQ(left_, 0);
  EXPECT_EQ(trace_, "shape x of [3,8]: equal\nshape x of [5,8]: equal\n");
  EXPECT_EQ(log_.verifications().size(), 2u);
  EXPECT_EQ(log_.time_answers().size(), 2u);
}

TEST_F(CheckShapesTest, RefusesWhatDiffersAtOneOfThem) {
  verifier_.wrong = {5};
  EXPECT_FALSE(IsRight());
  EXPECT_THAT(trace_, HasSubstr("shape x of [5,8]: different"));
}

// Where a recipe leads to the graph of the plan, it is followed there, too.
TEST_F(CheckShapesTest, FollowsTheRecipe) {
  EXPECT_TRUE(IsRight(*ParseRecipe("piece nodes=[0,1]\npiece nodes=[2]\n")));
  EXPECT_EQ(equal_, 2);
}

TEST_F(CheckShapesTest, WhatCannotBeBoundDoesNotRunThere) {
  EXPECT_TRUE(IsRight(*ParseRecipe("piece nodes=[0]\n")));
  EXPECT_TRUE(verifier_.asked.empty());
  EXPECT_EQ(equal_, 0);
  EXPECT_THAT(trace_, HasSubstr("its rewrites are for another graph"));
}

// As who loads it exchanges them.
TEST_F(CheckShapesTest, ExchangesKernelsThatDoNotRun) {
  candidate_.plan.steps[0].kernel.family = "of_two_rows";
  EXPECT_TRUE(IsRight());
  EXPECT_THAT(verifier_.asked, ElementsAre(3, 3, 5, 5));
  EXPECT_EQ(equal_, 2);
}

TEST_F(CheckShapesTest, AFailureTakesNothingAway) {
  verifier_.status = absl::InternalError("the original does not run");
  EXPECT_TRUE(IsRight());
  EXPECT_EQ(equal_, 0);
  EXPECT_THAT(trace_, HasSubstr("not compared: the original does not run"));
  EXPECT_EQ(log_.verifications().size(), 2u) << "a replay needs an answer";
}

TEST_F(CheckShapesTest, LooksAtNothingWithoutTime) {
  ScriptedBudget budget(0);
  EXPECT_TRUE(IsRight(budget));
  EXPECT_TRUE(verifier_.asked.empty());
  EXPECT_EQ(equal_, 0);
  EXPECT_EQ(left_, 2);
  EXPECT_EQ(budget.asked.size(), log_.time_answers().size());
}

// What is wrong anywhere is not returned, and a replay decides the same.
TEST(OptimizeAtShapesTest, ReturnsNoPlanThatIsWrongAtAnotherShape) {
  for (const bool is_wrong : {false, true}) {
    Job job;
    job.options.rules = AllRules();
    job.other_shapes = {Rows(3), Rows(5)};
    RowsVerifier verifier;
    if (is_wrong) verifier.wrong = {5};
    UnlimitedBudget forever;
    const absl::StatusOr<SearchResult> result = job.Run(Rows(2), job.profiler, verifier, forever);
    ASSERT_TRUE(result.ok()) << result.status();
    EXPECT_EQ(result->improved, !is_wrong) << result->trace;
    EXPECT_EQ(result->shapes_equal, is_wrong ? 0 : 2);

    Job again;
    again.options.rules = AllRules();
    again.other_shapes = job.other_shapes;
    ReplayingProfiler profiler(job.log);
    ReplayingVerifier replay(job.log);
    ReplayingBudget budget(job.log);
    const absl::StatusOr<SearchResult> replayed = again.Run(Rows(2), profiler, replay, budget);
    ASSERT_TRUE(replayed.ok()) << replayed.status();
    ExpectSame(*result, *replayed);
    EXPECT_EQ(replayed->shapes_equal, result->shapes_equal);
  }
}

}  // namespace
}  // namespace plait
