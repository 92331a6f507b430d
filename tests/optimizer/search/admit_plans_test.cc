#include "optimizer/search/admit_plans.h"

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/status_macros.h"
#include "optimizer/cost/replaying_profiler.h"
#include "tests/optimizer/search/job.h"

namespace plait {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr LayerError kTooLarge = {.error = 3.1e-6, .serial_error = 4e-7};

// Products alone and with a node behind them, and what the rules of a job rewrite.
Graph ProductsAmongNodes() {
  return GraphOf(R"(graph {
    input %x: float32[2,8]
    const %w1: float32[8,8] = synthetic 1
    const %w2: float32[8,8] = synthetic 2
    const %w3: float32[8,8] = synthetic 3
    %p1 = MatMul(%x, %w1) {}
    %a = Tanh(%p1) {}
    %b = Exp(%p1) {}
    %c = Add(%a, %b) {}
    %p2 = MatMul(%c, %w2) {}
    %d = Softmax(%p2) {axis=1}
    %p3 = MatMul(%d, %w3) {}
    %y = Relu(%p3) {}
    output %y
  })");
}

// The products that a plan runs in digits.
std::vector<std::string> InDigits(const Graph& graph, const Plan& plan) {
  return ProductsOf(graph, plan, [](const Kernel& kernel) { return kernel.family == "digits"; });
}

// Remembers which products ran in digits in any plan.
class WatchingVerifier : public FakeVerifier {
 public:
  absl::StatusOr<std::vector<CandidateMeasurement>> Verify(
      absl::Span<const PlanCandidate> candidates, const VerificationBatch& batch) override {
    for (const PlanCandidate& candidate : candidates) {
      for (const std::string& product : InDigits(candidate.graph, candidate.plan)) {
        in_digits.push_back(product);
      }
    }
    return FakeVerifier::Verify(candidates, batch);
  }
  absl::StatusOr<std::vector<LayerError>> MeasureErrors(const PlanCandidate& candidate,
                                                        absl::Span<const int> steps) override {
    PLAIT_ASSIGN_OR_RETURN(std::vector<LayerError> errors,
                           FakeVerifier::MeasureErrors(candidate, steps));
    if (!status.ok()) return status;
    if (answers_nothing) errors.clear();
    if (answers_too_much) errors.emplace_back();
    return errors;
  }

  // Every question, one behind the other.
  std::vector<std::string> Asked() const {
    std::vector<std::string> all;
    for (const std::vector<std::string>& call : errors_asked) {
      all.insert(all.end(), call.begin(), call.end());
    }
    std::sort(all.begin(), all.end());
    return all;
  }

  absl::Status status;
  bool answers_nothing = false;
  bool answers_too_much = false;
  std::vector<std::string> in_digits;
};

class AdmitPlansTest : public testing::Test {
 protected:
  AdmitPlansTest() {
    job_.catalog.offers_digits = true;
    job_.profiler.family_factor = {{"digits", 0.3}};
  }

  absl::StatusOr<SearchResult> Try(Budget& budget) {
    job_.progress.last_fraction = 0;
    return job_.Run(ProductsAmongNodes(), job_.profiler, verifier_, budget);
  }
  SearchResult Run(Budget& budget) {
    absl::StatusOr<SearchResult> result = Try(budget);
    EXPECT_TRUE(result.ok()) << result.status();
    return result.ok() ? *std::move(result) : SearchResult();
  }
  SearchResult Run() {
    OneNoBudget forever;
    return Run(forever);
  }

  Job job_;
  WatchingVerifier verifier_;
};

TEST_F(AdmitPlansTest, UsesAKernelWhereItsErrorIsSmall) {
  const SearchResult result = Run();
  EXPECT_TRUE(result.improved);
  EXPECT_THAT(InDigits(result.graph, result.plan), ElementsAre("p1", "p2", "p3")) << result.trace;
  EXPECT_THAT(InDigits(ProductsAmongNodes(), result.baseline_plan), IsEmpty());
  EXPECT_THAT(result.trace, Not(HasSubstr("refused")));
}

TEST_F(AdmitPlansTest, AsksAboutEachLayerOnce) {
  const SearchResult result = Run();
  EXPECT_TRUE(result.refused.empty());
  EXPECT_GT(result.candidates_measured, 1) << result.trace;
  EXPECT_THAT(verifier_.Asked(), ElementsAre("digits p1", "digits p2", "digits p3"));
}

TEST_F(AdmitPlansTest, TriesAMoreExactVariantWhereOneIsRefused) {
  job_.catalog.offers_careful_digits = true;
  verifier_.layer_errors = {
      {"digits p1", kTooLarge}, {"digits p2", kTooLarge}, {"careful digits p2", kTooLarge}};
  const SearchResult result = Run();
  EXPECT_THAT(InDigits(result.graph, result.plan), ElementsAre("p1", "p3")) << result.trace;
  EXPECT_THAT(verifier_.Asked(), ElementsAre("careful digits p1", "careful digits p2", "digits p1",
                                             "digits p2", "digits p3"));
}

// They read different values.
TEST_F(AdmitPlansTest, AsksAboutEveryPlaceOfALayer) {
  const Graph graph = GraphOf(R"(graph {
    input %x: float32[2,8]
    const %w: float32[8,8] = synthetic 1
    %p1 = MatMul(%x, %w) {}
    %a = Softmax(%p1) {axis=1}
    %p2 = MatMul(%a, %w) {}
    output %p2
  })");
  verifier_.layer_errors = {{"digits p2", kTooLarge}};
  OneNoBudget forever;
  const auto result = job_.Run(graph, job_.profiler, verifier_, forever);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_THAT(verifier_.Asked(), ElementsAre("digits p1", "digits p2"));
  EXPECT_THAT(verifier_.in_digits, IsEmpty());
}

// A plan of the products, with or without digits.
RankedPlan PlanWithRank(Job& job, bool in_digits, const std::string& id, double rank_us) {
  ProfileCache profiles(job.profiler, job.log);
  UnlimitedBudget forever;
  BudgetedProfiles budgeted(profiles, forever, job.log);
  Admissions none;
  none.RefuseUnknown();
  const SearchDevice device = {job.device, job.catalog, profiles, {}, in_digits ? nullptr : &none};
  const auto plans = PlanFused(ProductsAmongNodes(), device, {}, kSequentialPolicy, budgeted);
  EXPECT_TRUE(plans.ok()) << plans.status();
  RankedPlan ranked;
  if (plans.ok()) ranked.candidate = {id, ProductsAmongNodes(), plans->front().plan};
  ranked.rank_us = rank_us;
  return ranked;
}

TEST_F(AdmitPlansTest, PutsWhatItPlansAnewIntoOrderOnce) {
  std::vector<RankedPlan> plans = {
      PlanWithRank(job_, false, "baseline", 0), PlanWithRank(job_, true, "a", 10),
      PlanWithRank(job_, true, "b", 11), PlanWithRank(job_, false, "c", 12)};
  verifier_.layer_errors = {{"digits p1", kTooLarge}};
  UnlimitedBudget forever;
  int graphs_planned = 0;
  const AdmissionContext context = {
      .catalog = job_.catalog,
      .verifier = verifier_,
      .budget = forever,
      .log = job_.log,
      .candidates_max = 3,
      .plan_anew = [&](const RankedPlan&) -> absl::StatusOr<std::vector<RankedPlan>> {
        ++graphs_planned;
        return std::vector<RankedPlan>{
            PlanWithRank(job_, false, "d", 15), PlanWithRank(job_, false, "e", 16),
            PlanWithRank(job_, false, "c", 12), PlanWithRank(job_, false, "f", 11)};
      }};
  Admissions admissions;
  std::string trace;
  ASSERT_TRUE(AdmitPlans(context, admissions, plans, trace).ok());
  std::vector<std::string> ids;
  for (const RankedPlan& plan : plans) ids.push_back(plan.candidate.id);
  EXPECT_THAT(ids, ElementsAre("baseline", "f", "c", "d"));
  EXPECT_EQ(graphs_planned, 1);
  EXPECT_EQ(trace, "refused: digits x1 at p1, error 3.1e-06, serial 4e-07\n");
}

TEST_F(AdmitPlansTest, RefusesAPlanThatIsMadeAnewAsItWas) {
  std::vector<RankedPlan> plans = {PlanWithRank(job_, false, "baseline", 0),
                                   PlanWithRank(job_, true, "a", 10)};
  verifier_.layer_errors = {{"digits p1", kTooLarge}};
  UnlimitedBudget forever;
  const AdmissionContext context = {
      .catalog = job_.catalog,
      .verifier = verifier_,
      .budget = forever,
      .log = job_.log,
      .candidates_max = 3,
      .plan_anew = [&](const RankedPlan& plan) -> absl::StatusOr<std::vector<RankedPlan>> {
        return std::vector<RankedPlan>{plan};
      }};
  Admissions admissions;
  std::string trace;
  EXPECT_EQ(AdmitPlans(context, admissions, plans, trace).code(), absl::StatusCode::kInternal);
}

TEST_F(AdmitPlansTest, VerifiesNoPlanWithAKernelThatIsRefused) {
  verifier_.layer_errors = {{"digits p2", kTooLarge}};
  const SearchResult result = Run();
  EXPECT_TRUE(result.improved);
  EXPECT_THAT(InDigits(result.graph, result.plan), ElementsAre("p1", "p3")) << result.trace;
  EXPECT_THAT(verifier_.in_digits, Not(testing::Contains("p2")));
  EXPECT_THAT(result.trace, HasSubstr("refused: digits x1 at p2, error 3.1e-06, serial 4e-07\n"));
  ASSERT_EQ(result.refused.size(), 1u);
  EXPECT_EQ(result.refused[0].reason, RefusalReason::kInaccurate);
  EXPECT_EQ(result.refused[0].kernel, "digits");
  EXPECT_EQ(result.refused[0].place, "p2");
  EXPECT_EQ(result.refused[0].layers, 1);
  EXPECT_EQ(result.refused[0].error, 3.1e-6);
  EXPECT_EQ(result.refused[0].limit, 1.5e-6);
  EXPECT_TRUE(verifier_.plan_errors.empty());
}

TEST_F(AdmitPlansTest, TellsTheWorstOfWhatIsRefused) {
  verifier_.layer_errors = {{"digits p1", kTooLarge},
                            {"digits p2", {.hard_error = 1e-3, .serial_hard_error = 1e-7}},
                            {"digits p3", kTooLarge}};
  const SearchResult result = Run();
  EXPECT_THAT(verifier_.in_digits, IsEmpty());
  EXPECT_THAT(result.trace,
              HasSubstr("refused: digits x3 at p2, error on hard inputs 0.001, serial 1e-07\n"));
}

TEST_F(AdmitPlansTest, RefusesWhatCannotBeMeasured) {
  for (const absl::Status& status : {absl::OkStatus(), absl::DeadlineExceededError("too long")}) {
    verifier_.status = status;
    verifier_.answers_nothing = true;
    const SearchResult result = Run();
    EXPECT_TRUE(result.improved);
    EXPECT_THAT(verifier_.in_digits, IsEmpty());
    EXPECT_THAT(result.trace, HasSubstr("refused: digits x3 at p1, which could not be measured\n"));
  }
}

TEST_F(AdmitPlansTest, ReturnsWhatIsWrongWithTheDevice) {
  OneNoBudget forever;
  verifier_.answers_too_much = true;
  EXPECT_EQ(Try(forever).status().code(), absl::StatusCode::kInternal);
  verifier_.status = absl::UnavailableError("gone");
  EXPECT_EQ(Try(forever).status(), verifier_.status);
}

TEST_F(AdmitPlansTest, ReservesTimeForAsking) {
  OneNoBudget with;
  Run(with);
  job_.catalog.offers_digits = false;
  OneNoBudget without;
  Run(without);
  // Of each layer 40 ms, and a load, as of the plan.
  EXPECT_GT(with.reserved, without.reserved + 3 * 0.06 + 0.02);
}

// Nothing is asked, so that nothing is measured for it either.
TEST_F(AdmitPlansTest, LeavesOutKernelsThatThereIsNoTimeToAskAbout) {
  OneNoBudget budget(0);
  const SearchResult result = Run(budget);
  EXPECT_TRUE(result.improved);
  EXPECT_THAT(verifier_.in_digits, IsEmpty());
  EXPECT_THAT(verifier_.errors_asked, IsEmpty());
  EXPECT_THAT(job_.profiler.measured, Not(testing::Contains(HasSubstr("digits"))));
  EXPECT_THAT(result.trace, HasSubstr("no time for kernels that need admission\n"));
}

TEST_F(AdmitPlansTest, PlansAnewWhatThereIsNoTimeToAskAbout) {
  OneNoBudget budget(1);
  const SearchResult result = Run(budget);
  EXPECT_TRUE(result.improved);
  EXPECT_THAT(verifier_.in_digits, IsEmpty());
  EXPECT_THAT(verifier_.errors_asked, IsEmpty());
  EXPECT_THAT(result.trace, HasSubstr("no time to measure the errors of 3 steps\n"));
}

TEST_F(AdmitPlansTest, AsksForNothingWhereNoKernelNeedsAdmission) {
  job_.catalog.offers_digits = false;
  Run();
  EXPECT_THAT(verifier_.errors_asked, IsEmpty());
  EXPECT_THAT(job_.log.error_measurements(), IsEmpty());
}

TEST_F(AdmitPlansTest, RanksWhatItPlansAnewByEveryPolicy) {
  verifier_.layer_errors = {{"digits p2", kTooLarge}};
  for (const char* search : {"taso", "autograph", "plait"}) {
    job_.options.search = search;
    EXPECT_THAT(InDigits(ProductsAmongNodes(), Run().plan), Not(testing::Contains("p2"))) << search;
  }
  job_.options.search = "none";
  verifier_.errors_asked.clear();
  EXPECT_FALSE(Run().improved);
  EXPECT_THAT(verifier_.errors_asked, IsEmpty());
}

TEST_F(AdmitPlansTest, ReplayFromTheLogGivesTheSameResultOnAnyNumberOfThreads) {
  verifier_.layer_errors = {{"digits p2", kTooLarge}};
  const SearchResult original = Run();
  const auto log = MeasurementLog::Parse(job_.log.ToText());
  ASSERT_TRUE(log.ok()) << log.status();
  EXPECT_FALSE(log->error_measurements().empty());
  for (const int threads : {1, 3}) {
    ReplayingProfiler profiler(*log);
    ReplayingVerifier verifier(*log);
    ReplayingBudget budget(*log);
    Job replay;
    replay.catalog.offers_digits = true;
    replay.options.threads = threads;
    const auto repeated = replay.Run(ProductsAmongNodes(), profiler, verifier, budget);
    ASSERT_TRUE(repeated.ok()) << repeated.status();
    ExpectSame(original, *repeated);
    EXPECT_EQ(replay.log.ToText(), job_.log.ToText());
  }
}

TEST_F(AdmitPlansTest, TheResultDoesNotDependOnTheNumberOfThreads) {
  verifier_.layer_errors = {{"digits p2", kTooLarge}};
  const SearchResult one = Run();
  Job job;
  job.catalog.offers_digits = true;
  job.profiler.family_factor = job_.profiler.family_factor;
  job.options.threads = 3;
  WatchingVerifier verifier;
  verifier.layer_errors = verifier_.layer_errors;
  OneNoBudget forever;
  const auto three = job.Run(ProductsAmongNodes(), job.profiler, verifier, forever);
  ASSERT_TRUE(three.ok()) << three.status();
  ExpectSame(one, *three);
  EXPECT_EQ(job.log.ToText(), job_.log.ToText());
}

TEST_F(AdmitPlansTest, ALogWithAnswersToOtherQuestionsIsRefused) {
  Run();
  const Graph graph = ProductsAmongNodes();
  PlanCandidate candidate = {job_.log.error_measurements().front().candidate, graph, {}};
  const std::vector<int> steps = job_.log.error_measurements().front().steps;
  ReplayingVerifier verifier(job_.log);
  EXPECT_EQ(verifier.MeasureErrors(candidate, {steps[0]}).status().code(),
            absl::StatusCode::kFailedPrecondition);
  candidate.id = "another";
  EXPECT_EQ(verifier.MeasureErrors(candidate, steps).status().code(),
            absl::StatusCode::kFailedPrecondition);
  candidate.id = job_.log.error_measurements().front().candidate;
  EXPECT_TRUE(verifier.MeasureErrors(candidate, steps).ok());
  EXPECT_EQ(verifier.MeasureErrors(candidate, steps).status().code(),
            absl::StatusCode::kFailedPrecondition);
}

}  // namespace
}  // namespace plait
