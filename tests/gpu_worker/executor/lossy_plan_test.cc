// What a search may lose, with the cpu backend's own kernels and errors as they are measured. Only
// times are made up, so that kernels for instructions that this processor lacks, which are
// interpreted here, are as fast as on one that has them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gpu_worker/executor/measure_errors.h"
#include "gpu_worker/executor/measure_plans.h"
#include "optimizer/ops/evaluation/evaluate.h"
#include "optimizer/rules/rule.h"
#include "optimizer/search/optimize.h"
#include "tests/gpu_worker/executor/executor_fixture.h"

namespace plait {
namespace {

using testing::AllOf;
using testing::Each;
using testing::ElementsAre;
using testing::EndsWith;
using testing::Not;
using testing::SizeIs;
using testing::StartsWith;

// Products of 100 us each in fp32.
class MadeUpTimes : public Profiler {
 public:
  absl::StatusOr<std::vector<Profile>> Measure(absl::Span<const ProfileRequest> requests) override {
    std::vector<Profile> profiles;
    for (const ProfileRequest& request : requests) {
      Profile profile;
      profile.samples = 20;
      profile.latency_us_median = 100;
      // Whatever planes of bf16 gain, digits gain more.
      if (request.key.family == "matmul_int8") {
        if (request.key.variant == "x8") profile.latency_us_median = 70;
        if (request.key.variant == "x6") profile.latency_us_median = 50;
        if (request.key.variant == "x3") profile.latency_us_median = 25;
      } else if (request.key.family == "matmul_bf16") {
        if (request.key.variant == "x6") profile.latency_us_median = 90;
        if (request.key.variant == "x3") profile.latency_us_median = 60;
        if (request.key.variant == "x1") profile.latency_us_median = 30;
      }
      profile.latency_us_p10 = profile.latency_us_median;
      profiles.push_back(profile);
    }
    return profiles;
  }
};

// Outputs and errors are measured. Times are those of the simulator.
class RealErrors : public Verifier {
 public:
  RealErrors(Executor& executor, double tolerance) : executor_(executor), tolerance_(tolerance) {}

  absl::StatusOr<std::vector<CandidateMeasurement>> Verify(
      absl::Span<const PlanCandidate> candidates, const VerificationBatch& batch) override {
    std::vector<CandidatePlan> plans;
    for (const PlanCandidate& candidate : candidates) {
      plans.push_back({&candidate.graph, &candidate.plan});
    }
    const MeasureOptions options = {
        .rounds = 3, .random_inputs = batch.random_inputs, .rel_error_max = tolerance_};
    auto measured = MeasurePlans(executor_, plans, NoWeights(), options);
    if (!measured.ok()) return measured.status();
    std::vector<CandidateMeasurement> measurements;
    for (size_t i = 0; i < candidates.size(); ++i) {
      if (!(*measured)[i].ok()) return (*measured)[i].status();
      CandidateMeasurement& measurement = measurements.emplace_back(*(*measured)[i]);
      measurement.candidate = candidates[i].id;
      measurement.load_rounds.assign(batch.loads, batch.rounds);
      measurement.load_ms.assign(batch.loads, 1);
      measurement.latency_us.assign(batch.loads * batch.rounds, candidates[i].predicted_us);
    }
    return measurements;
  }

  absl::StatusOr<std::vector<LayerError>> MeasureErrors(const PlanCandidate& candidate,
                                                        absl::Span<const int> steps) override {
    return plait::MeasureErrors(executor_, {&candidate.graph, &candidate.plan}, steps, NoWeights(),
                                {});
  }

 private:
  Executor& executor_;
  const double tolerance_;
};

class NoProgress : public ProgressSink {
  void OnPhase(absl::string_view, double) override {}
};

constexpr char kTwoProducts[] = R"(graph {
  input %x: float32[32,256]
  const %w1: float32[256,128] = synthetic 1
  const %w2: float32[128,256] = synthetic 2
  %a = MatMul(%x, %w1) {}
  %b = Tanh(%a) {}
  %y = MatMul(%b, %w2) {}
  output %y
})";

constexpr char kOneProduct[] = R"(graph {
  input %x: float32[32,256]
  const %w: float32[256,128] = synthetic 1
  %y = MatMul(%x, %w) {}
  output %y
})";

class LossyPlanTest : public ExecutorFixture {
 protected:
  // `rel_error_max` 0: nothing may be lost. Of precision bf16 nothing is in digits.
  SearchResult Search(double rel_error_max, const std::string& precision = "auto",
                      const char* text = kTwoProducts) {
    DeviceDescription device = executor_->device();
    device.instruction_set = "amx";
    device.streams_max = 1;
    const auto catalog = CatalogFor(device, {.digits = precision != "bf16"});
    const Graph graph = ParseTyped(text);
    MadeUpTimes times;
    RealErrors errors(*executor_, rel_error_max > 0 ? rel_error_max : 1e-4);
    MeasurementLog log;
    ProfileCache profiles(times, log);
    UnlimitedBudget forever;
    NoProgress progress;
    const SearchContext context = {device, **catalog, profiles, errors, forever, log, progress};
    SearchOptions options;
    options.rules = AllRules();
    options.rel_error_max = rel_error_max;
    options.precision = precision;
    auto result = Optimize(graph, options, context);
    EXPECT_TRUE(result.ok()) << result.status();
    return result.ok() ? *std::move(result) : SearchResult();
  }

  // Family and variant of each.
  static std::vector<std::string> Products(const SearchResult& result) {
    std::vector<std::string> products;
    for (const Step& step : result.plan.steps) {
      if (absl::StartsWith(step.kernel.family, "matmul")) {
        products.push_back(absl::StrCat(step.kernel.family, " ", step.kernel.variant));
      }
    }
    return products;
  }
};

TEST_F(LossyPlanTest, KeepsTheAccuracyOfFp32WhereNothingMayBeLost) {
  const SearchResult result = Search(0);
  EXPECT_THAT(Products(result), ElementsAre("matmul_int8 x6", "matmul_int8 x6")) << result.trace;
  EXPECT_LT(result.equivalence.max_rel_error, 2e-6);
}

TEST_F(LossyPlanTest, TakesHalfOfTheProductsWhereTheirErrorIsAllowed) {
  const SearchResult result = Search(1e-3);
  EXPECT_THAT(Products(result), ElementsAre("matmul_int8 x3", "matmul_int8 x3")) << result.trace;
  EXPECT_EQ(result.plan.precision, "auto");
  EXPECT_LT(result.equivalence.max_rel_error, 1e-3);
  EXPECT_GT(result.equivalence.max_rel_error, 2e-6);
}

TEST_F(LossyPlanTest, StaysWithinLittle) {
  const double lost = Search(1e-3).equivalence.max_rel_error;
  const SearchResult result = Search(lost / 20);
  EXPECT_TRUE(result.improved) << result.trace;
  EXPECT_LE(result.equivalence.max_rel_error, lost / 20);
  EXPECT_THAT(Products(result), Each(testing::Ne("matmul_int8 x3"))) << result.trace;
}

TEST_F(LossyPlanTest, Bf16TakesSingleProductsWhereTheirErrorIsAllowed) {
  const SearchResult result = Search(5e-2, "bf16", kOneProduct);
  EXPECT_THAT(Products(result), ElementsAre("matmul_bf16 x1")) << result.trace;
  EXPECT_EQ(result.plan.precision, "bf16");
  EXPECT_LT(result.equivalence.max_rel_error, 5e-2);
  EXPECT_GT(result.equivalence.max_rel_error, 1e-4);
}

TEST_F(LossyPlanTest, Bf16IsAsExactAsItHasToBe) {
  // No more than what fp32 may lose in another order.
  const SearchResult least = Search(1e-6, "bf16", kOneProduct);
  EXPECT_THAT(Products(least), SizeIs(1));
  EXPECT_THAT(Products(least), Each(AllOf(Not(EndsWith(" x1")), Not(EndsWith(" x3")),
                                          Not(StartsWith("matmul_int8")))))
      << least.trace;
  EXPECT_LE(least.equivalence.max_rel_error, 1e-6);
}

}  // namespace
}  // namespace plait
