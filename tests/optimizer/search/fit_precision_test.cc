#include "optimizer/search/fit_precision.h"

#include <algorithm>
#include <cmath>
#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "optimizer/cost/replaying_profiler.h"
#include "tests/optimizer/search/job.h"

namespace plait {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

// In a row, so that every plan has all of them.
Graph ThreeProducts() {
  return GraphOf(R"(graph {
    input %x: float32[2,8]
    const %w1: float32[8,8] = synthetic 1
    const %w2: float32[8,8] = synthetic 2
    const %w3: float32[8,8] = synthetic 3
    %p1 = MatMul(%x, %w1) {}
    %a = Softmax(%p1) {axis=1}
    %p2 = MatMul(%a, %w2) {}
    %b = Softmax(%p2) {axis=1}
    %p3 = MatMul(%b, %w3) {}
    output %p3
  })");
}

// The products that a plan runs by a variant of digits that loses accuracy.
std::vector<std::string> Rough(const Graph& graph, const Plan& plan) {
  return ProductsOf(graph, plan, [](const Kernel& kernel) { return kernel.variant == "rough"; });
}

// Outputs are off by what rough products lose, times how much of it reaches the outputs.
class LossyVerifier : public FakeVerifier {
 public:
  explicit LossyVerifier(double tolerance) : tolerance_(tolerance) {}

  absl::StatusOr<std::vector<CandidateMeasurement>> Verify(
      absl::Span<const PlanCandidate> candidates, const VerificationBatch& batch) override {
    auto measurements = FakeVerifier::Verify(candidates, batch);
    for (size_t i = 0; measurements.ok() && i < candidates.size(); ++i) {
      double squares = 0;
      for (const std::string& product : Rough(candidates[i].graph, candidates[i].plan)) {
        const double loss = sensitivity[product] * layer_errors["rough digits " + product].error;
        squares += loss * loss;
      }
      Equivalence& equivalence = (*measurements)[i].equivalence;
      equivalence.max_rel_error = std::sqrt(squares);
      equivalence.verdict = JudgeErrors(equivalence, tolerance_);
      worst_measured = std::max(worst_measured, equivalence.max_rel_error);
    }
    return measurements;
  }

  std::map<std::string, double> sensitivity = {{"p1", 1}, {"p2", 1}, {"p3", 1}};
  double worst_measured = 0;

 private:
  const double tolerance_;
};

class FitPrecisionTest : public testing::Test {
 protected:
  FitPrecisionTest() {
    job_.catalog.offers_digits = true;
    job_.catalog.offers_rough_digits = true;
    job_.profiler.family_factor = {{"digits", 0.3}};
    verifier_.layer_errors = {{"rough digits p1", {.error = 1e-5}},
                              {"rough digits p2", {.error = 1e-5}},
                              {"rough digits p3", {.error = 1e-5}}};
  }

  SearchResult Run(double rel_error_max, Budget& budget) {
    job_.progress.last_fraction = 0;
    job_.options.rel_error_max = rel_error_max;
    absl::StatusOr<SearchResult> result =
        job_.Run(ThreeProducts(), job_.profiler, verifier_, budget);
    EXPECT_TRUE(result.ok()) << result.status();
    return result.ok() ? *std::move(result) : SearchResult();
  }
  SearchResult Run(double rel_error_max) {
    UnlimitedBudget forever;
    return Run(rel_error_max, forever);
  }

  Job job_;
  LossyVerifier verifier_{1e-4};
};

TEST_F(FitPrecisionTest, LosesNothingWhereNothingMayBeLost) {
  const SearchResult result = Run(0);
  EXPECT_THAT(Rough(result.graph, result.plan), IsEmpty());
  EXPECT_EQ(result.plan.precision, "strict");
  EXPECT_EQ(verifier_.worst_measured, 0);
}

TEST_F(FitPrecisionTest, TakesTheFastestWhereItIsGoodEnough) {
  const SearchResult result = Run(1e-4);
  EXPECT_THAT(Rough(result.graph, result.plan), ElementsAre("p1", "p2", "p3")) << result.trace;
  EXPECT_EQ(result.plan.precision, "auto");
  EXPECT_EQ(result.baseline_plan.precision, "strict");
  EXPECT_THAT(result.trace, HasSubstr("loses 1.7e-05, allowed are 0.0001\n"));
}

// What is lost in the second product reaches the outputs a hundred times as large.
TEST_F(FitPrecisionTest, LosesWhereTheOutputsFeelItLeast) {
  verifier_.sensitivity = {{"p1", 0.1}, {"p2", 10}, {"p3", 0.1}};
  const SearchResult result = Run(2e-5);
  EXPECT_THAT(Rough(result.graph, result.plan), ElementsAre("p1", "p3")) << result.trace;
  EXPECT_LE(result.equivalence.max_rel_error, 2e-5);
  EXPECT_THAT(result.trace, HasSubstr("region 1 of 3: sensitivity 10\n"));
}

TEST_F(FitPrecisionTest, KeepsAllAccuracyWhereAnyLossIsTooMuch) {
  const SearchResult result = Run(1e-7);
  EXPECT_TRUE(result.improved);
  EXPECT_THAT(Rough(result.graph, result.plan), IsEmpty()) << result.trace;
}

// A layer where the usual digits are not as good as fp32 may run by them all the same.
TEST_F(FitPrecisionTest, AdmitsAtAPriceWhatStrictPlansRefuse) {
  job_.catalog.offers_rough_digits = false;
  verifier_.layer_errors = {{"digits p2", {.error = 3e-6, .serial_error = 1e-7}}};
  const auto in_digits = [](const SearchResult& result) {
    return std::count_if(result.plan.steps.begin(), result.plan.steps.end(),
                         [](const Step& step) { return step.kernel.family == "digits"; });
  };
  EXPECT_EQ(in_digits(Run(0)), 2);
  EXPECT_EQ(in_digits(Run(1e-4)), 3);
}

// It passed when the price was found, on fewer inputs than those that decide.
TEST_F(FitPrecisionTest, HasAnotherPlanWhereTheDecisionFindsMoreError) {
  LossyVerifier stricter(1e-6);
  stricter.layer_errors = verifier_.layer_errors;
  UnlimitedBudget forever;
  job_.options.rel_error_max = 1e-4;
  const auto result = job_.Run(ThreeProducts(), job_.profiler, stricter, forever);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_TRUE(result->improved) << result->trace;
  EXPECT_THAT(Rough(result->graph, result->plan), IsEmpty());
}

TEST_F(FitPrecisionTest, IsWithinTheErrorWhateverThereIsNoTimeFor) {
  verifier_.sensitivity = {{"p1", 0.1}, {"p2", 10}, {"p3", 0.1}};
  OneNoBudget all;
  Run(2e-5, all);
  ASSERT_GT(all.asked, 5);
  for (int refused = 0; refused < all.asked; ++refused) {
    OneNoBudget budget(refused);
    const SearchResult result = Run(2e-5, budget);
    EXPECT_LE(result.equivalence.max_rel_error, 2e-5) << refused << "\n" << result.trace;
    EXPECT_THAT(Rough(result.graph, result.plan), Not(testing::Contains("p2"))) << refused;
  }
}

TEST_F(FitPrecisionTest, ReplayFromTheLogGivesTheSameResultOnAnyNumberOfThreads) {
  verifier_.sensitivity = {{"p1", 0.1}, {"p2", 10}, {"p3", 0.1}};
  const SearchResult original = Run(2e-5);
  const auto log = MeasurementLog::Parse(job_.log.ToText());
  ASSERT_TRUE(log.ok()) << log.status();
  for (const int threads : {1, 3}) {
    Job again;
    again.catalog.offers_digits = true;
    again.catalog.offers_rough_digits = true;
    again.options.threads = threads;
    again.options.rel_error_max = 2e-5;
    ReplayingProfiler profiler(*log);
    ReplayingVerifier verifier(*log);
    ReplayingBudget budget(*log);
    const auto replayed = again.Run(ThreeProducts(), profiler, verifier, budget);
    ASSERT_TRUE(replayed.ok()) << replayed.status();
    ExpectSame(original, *replayed);
    EXPECT_EQ(again.log.ToText(), job_.log.ToText());
  }
}

}  // namespace
}  // namespace plait
