#include "optimizer/search/verify_predicted.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "tests/fakes/fake_device.h"

namespace plait {
namespace {

using testing::ElementsAre;

// Compares graphs by the name of their output: which of them are wrong, or do not run, the test
// says.
class GraphVerifier : public Verifier {
 public:
  absl::StatusOr<std::vector<CandidateMeasurement>> Verify(
      absl::Span<const PlanCandidate> candidates, const VerificationBatch& batch) override {
    EXPECT_EQ(batch.loads * batch.rounds, 1);
    std::vector<CandidateMeasurement> measurements;
    std::string call;
    for (const PlanCandidate& candidate : candidates) {
      absl::StrAppend(&call, call.empty() ? "" : " ", candidate.id);
      CandidateMeasurement& measurement = measurements.emplace_back();
      measurement.equivalence.verdict =
          candidate.id == wrong ? Verdict::kDifferent : Verdict::kEquivalent;
      // Worse in a channel of small values than in the whole output.
      measurement.equivalence.max_rel_error = candidate.id == wrong ? 0.25 : 0;
      measurement.equivalence.max_channel_error = candidate.id == wrong ? 0.5 : 0;
      if (candidate.id == wrong) measurement.equivalence.outputs = {{1, 0.25, 0, 0.5}};
      measurement.equivalence.inputs_tried = 4;
      if (candidate.id == broken) measurement.error = "no such kernel";
    }
    calls.push_back(call);
    return measurements;
  }
  absl::StatusOr<std::vector<LayerError>> MeasureErrors(const PlanCandidate&,
                                                        absl::Span<const int>) override {
    return std::vector<LayerError>();
  }

  std::string wrong;
  std::string broken;
  std::vector<std::string> calls;
};

Graph GraphWith(const std::string& op) {
  return GraphOf("graph {\n  input %x: float32[4]\n  %y = " + op + "(%x) {}\n  output %y\n}");
}

class VerifyPredictedTest : public testing::Test {
 protected:
  VerificationResult Verify(const VerificationOptions& options = {}) {
    const auto result = VerifyPredicted(candidates_, options, {verifier_, budget_, log_, {}});
    EXPECT_TRUE(result.ok()) << result.status();
    return result.ok() ? *result : VerificationResult();
  }

  std::vector<PlanCandidate> candidates_ = {{"base", GraphWith("Abs"), Plan(), 100},
                                            {"slower", GraphWith("Exp"), Plan(), 120},
                                            {"good", GraphWith("Neg"), Plan(), 80},
                                            {"best", GraphWith("Tanh"), Plan(), 50},
                                            {"second", GraphWith("Tanh"), Plan(), 60}};
  GraphVerifier verifier_;
  UnlimitedBudget budget_;
  MeasurementLog log_;
};

TEST_F(VerifyPredictedTest, TheShortestPredictionWins) {
  const VerificationResult result = Verify();
  EXPECT_EQ(result.winner, 3);
  EXPECT_EQ(result.speedup.median, 2);
  EXPECT_TRUE(result.optimized.latency_us.empty());
  EXPECT_EQ(result.optimized.equivalence.inputs_tried, 4);
  EXPECT_EQ(result.candidates_measured, 0);
  EXPECT_THAT(verifier_.calls, ElementsAre("base best"));
  EXPECT_EQ(log_.verifications().size(), 1u);
}

// The best one is so by the constants alone: by three draws of a hundred it takes longer.
TEST_F(VerifyPredictedTest, AFindingSurvivesOtherConstants) {
  const auto draws_us = [](const PlanCandidate& candidate) {
    std::vector<double> us(100, candidate.predicted_us);
    if (candidate.id == "base") return us;
    for (int draw = 0; draw < 100; ++draw) us[draw] *= 1 + (draw - 50) / 1000.0;
    if (candidate.id == "best") us[0] = us[40] = us[80] = 101;
    return us;
  };
  const VerificationResult result = Verify({.predicted_draws_us = draws_us});
  EXPECT_EQ(result.winner, 4);
  EXPECT_THAT(verifier_.calls, ElementsAre("base second"));
  EXPECT_DOUBLE_EQ(result.speedup.median, 100.0 / 60);
  // The third worst and the third best of the draws.
  EXPECT_DOUBLE_EQ(result.speedup.low, 100 / (60 * 1.047));
  EXPECT_DOUBLE_EQ(result.speedup.high, 100 / (60 * 0.952));
  EXPECT_EQ(result.speedup.certain, result.speedup.low);
  EXPECT_EQ(result.baseline_draws_us, draws_us(candidates_[0]));
  EXPECT_EQ(result.optimized_draws_us, draws_us(candidates_[4]));
  ASSERT_EQ(result.refused.size(), 1u);
  EXPECT_EQ(result.refused[0].reason, RefusalReason::kNotFaster);
  EXPECT_EQ(result.refused[0].predicted_speedup, 2);
  EXPECT_DOUBLE_EQ(result.refused[0].speedup_certain, 100.0 / 101);
}

// Of a hundred draws two lie outside on either side.
TEST_F(VerifyPredictedTest, BoundsHoldTheMiddleOfTheDraws) {
  std::vector<double> draws;
  for (int draw = 100; draw > 0; --draw) draws.push_back(draw);
  EXPECT_EQ(BoundsOfDraws(50, draws), (DrawBounds{3, 98}));
  EXPECT_EQ(BoundsOfDraws(2, draws), (DrawBounds{2, 98}));
  EXPECT_EQ(BoundsOfDraws(99, draws), (DrawBounds{3, 99}));
  EXPECT_EQ(BoundsOfDraws(50, {}), (DrawBounds{50, 50}));
}

TEST_F(VerifyPredictedTest, TheOriginalHasItsOwnDraws) {
  candidates_.resize(2);
  const auto draws_us = [](const PlanCandidate& candidate) {
    return std::vector<double>(3, candidate.predicted_us);
  };
  const VerificationResult result = Verify({.predicted_draws_us = draws_us});
  EXPECT_EQ(result.winner, 0);
  EXPECT_THAT(result.optimized_draws_us, ElementsAre(100, 100, 100));
}

TEST_F(VerifyPredictedTest, WhatIsWrongIsRefusedWithAllPlansOfItsGraph) {
  verifier_.wrong = "best";
  const VerificationResult result = Verify();
  EXPECT_EQ(result.winner, 2);
  EXPECT_THAT(verifier_.calls, ElementsAre("base best", "base good"));
  ASSERT_EQ(result.refused.size(), 2u);
  EXPECT_EQ(result.refused[0].reason, RefusalReason::kDifferent);
  EXPECT_EQ(result.refused[0].error, 0.5);
  EXPECT_EQ(result.refused[0].place, "y");
  EXPECT_EQ(result.refused[0].predicted_speedup, 2);
  EXPECT_EQ(result.refused[1].predicted_us, 60);
}

// What one of them loses says nothing about the other.
TEST_F(VerifyPredictedTest, PlansThatMayLoseAccuracyAreComparedOneByOne) {
  for (PlanCandidate& candidate : candidates_) candidate.plan.precision = "tf32";
  verifier_.wrong = "best";
  const VerificationResult result = Verify();
  EXPECT_EQ(result.winner, 4);
  EXPECT_THAT(verifier_.calls, ElementsAre("base best", "base second"));
  EXPECT_EQ(result.refused.size(), 1u);
}

TEST_F(VerifyPredictedTest, TheOriginalStaysWhereNothingIsPredictedToBeFaster) {
  verifier_.broken = "best";
  verifier_.wrong = "good";
  VerificationResult result = Verify();
  EXPECT_EQ(result.winner, 0);
  EXPECT_EQ(result.speedup.median, 1);
  EXPECT_EQ(result.refused[0].reason, RefusalReason::kFailed);
  EXPECT_EQ(result.refused[0].message, "no such kernel");
  EXPECT_EQ(result.optimized.equivalence.inputs_tried, 4);

  candidates_.resize(2);
  verifier_.calls.clear();
  result = Verify();
  EXPECT_EQ(result.winner, 0);
  EXPECT_THAT(verifier_.calls, ElementsAre("base"));
}

}  // namespace
}  // namespace plait
