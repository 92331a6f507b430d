#include "optimizer/search/verify_candidates.h"

#include <algorithm>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/optimizer/search/verify_candidates_fixture.h"

namespace plait {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST_F(VerifyCandidatesTest, ChoosesAFinalistAndThenLetsItDecideAlone) {
  verifier_.latency_us = {{"base", 100}, {"1", 90}, {"2", 80}, {"3", 70},
                          {"4", 60},     {"5", 95}, {"6", 99}};
  const auto result = Verify(Candidates(6));
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_THAT(verifier_.calls, ElementsAre("1x5: base 1 2", "1x5: base 3 4", "1x5: base 5 6",
                                           "1x5: base 4 3", "6x12: base 4"));
  EXPECT_EQ(result->winner, 4);
  EXPECT_EQ(result->candidates_measured, 6);
  ASSERT_EQ(result->plan_times.size(), 6u);
  EXPECT_EQ(PlanTimesLine(result->plan_times[1]),
            "measured: candidate 2, predicted 100 us, took 80 us, speedup 1.25\n");
  EXPECT_EQ(result->plan_times[1], (PlanTimes{2, 100, 1, 80, 1.25, false}));
  EXPECT_EQ(result->plan_times[3].candidate, 4);
  EXPECT_EQ(result->plan_times[3].latency_us, 60);
  EXPECT_TRUE(result->plan_times[3].won);
  EXPECT_NEAR(result->speedup.median, 100.0 / 60, 1e-9);
  EXPECT_GT(result->speedup.certain, 1.6);
  EXPECT_EQ(result->baseline.latency_us.size(), 72u);
  EXPECT_EQ(result->optimized.candidate, "4");
  EXPECT_EQ(result->seconds_needed, 0);
  EXPECT_EQ(result->load_effect, (LoadEffect{0.003, 6}));
  EXPECT_EQ(log_.verifications().size(), 5u);
  EXPECT_EQ(log_.time_answers().size(), budget_.asked.size());
}

TEST_F(VerifyCandidatesTest, AFinalistThatIsWrongElsewhereIsNotJudged) {
  verifier_.latency_us = {{"base", 100}, {"1", 90}, {"2", 80}};
  std::vector<int> asked;
  const VerificationContext context = {.verifier = verifier_,
                                       .budget = budget_,
                                       .log = log_,
                                       .load_effect = {0.01, 20},
                                       .is_right_elsewhere = [&](int candidate, double) {
                                         asked.push_back(candidate);
                                         return candidate != 2;
                                       }};
  const auto result = VerifyCandidates(Candidates(2), {}, context);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_THAT(asked, ElementsAre(2, 1));
  EXPECT_THAT(verifier_.calls, ElementsAre("1x5: base 1 2", "6x12: base 1"));
  EXPECT_EQ(result->winner, 1);
}

// What is returned was compared on all inputs; what is only to be chosen need not be.
TEST_F(VerifyCandidatesTest, TheFinalistIsComparedOnAllInputs) {
  verifier_.latency_us = {{"base", 100}, {"1", 90}, {"2", 80}};
  ASSERT_TRUE(Verify(Candidates(2)).ok());
  EXPECT_THAT(verifier_.random_inputs, ElementsAre(1, 4));
  EXPECT_THAT(verifier_.with_given_inputs, ElementsAre(false, true));
}

// An input on which both give nothing but NaN proves nothing; the next one may.
TEST_F(VerifyCandidatesTest, WhatOneInputDoesNotProveMayStillWin) {
  verifier_.latency_us = {{"base", 100}, {"1", 90}, {"2", 80}};
  verifier_.change["2"] = [this](auto& m) {
    if (verifier_.calls.empty()) m.equivalence.verdict = Verdict::kInconclusive;
  };
  const auto result = Verify(Candidates(2));
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->winner, 2);
}

TEST_F(VerifyCandidatesTest, WhatIsNotCertainYetIsLookedAtAgain) {
  DisturbFirstLoads(verifier_);
  const auto result = Verify(Candidates(1));
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_THAT(verifier_.calls, ElementsAre("6x12: base 1", "6x12: base 1"));
  EXPECT_EQ(result->winner, 1);
  EXPECT_EQ(result->baseline.load_rounds.size(), 12u);
  EXPECT_EQ(result->optimized.latency_us.size(), 2u * 72);
  EXPECT_NEAR(result->speedup.median, 1.04, 0.005);
  EXPECT_THAT(result->refused, testing::IsEmpty());
  // Outputs are compared once.
  EXPECT_THAT(verifier_.random_inputs, ElementsAre(4, 1));
  EXPECT_THAT(verifier_.with_given_inputs, ElementsAre(true, false));
  EXPECT_EQ(log_.verifications().size(), 2u);
  EXPECT_EQ(log_.time_answers().size(), budget_.asked.size());
}

TEST_F(VerifyCandidatesTest, WhatIsWrongAtALaterLookDoesNotWin) {
  DisturbFirstLoads(verifier_);
  const auto disturb = verifier_.change["1"];
  verifier_.change["1"] = [this, disturb](CandidateMeasurement& m) {
    disturb(m);
    if (!verifier_.calls.empty()) m.equivalence.verdict = Verdict::kDifferent;
  };
  const auto result = Verify(Candidates(1));
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->winner, 0);
  ASSERT_EQ(result->refused.size(), 1u);
  EXPECT_EQ(result->refused[0].reason, RefusalReason::kDifferent);
}

TEST_F(VerifyCandidatesTest, OfOneCandidateThereIsNothingToChoose) {
  verifier_.latency_us = {{"base", 100}, {"1", 90}};
  const auto result = Verify(Candidates(1));
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_THAT(verifier_.calls, ElementsAre("6x12: base 1"));
  EXPECT_EQ(result->winner, 1);
}

// What somebody who waits is told.
class Listener : public ProgressSink {
 public:
  void OnPhase(absl::string_view, double) override {}
  void OnFraction(double fraction, double seconds_left) override {
    fractions.push_back(fraction);
    seconds.push_back(seconds_left);
  }
  void OnMeasured(double speedup) override { measured.push_back(speedup); }

  std::vector<double> fractions;
  std::vector<double> seconds;
  std::vector<double> measured;
};

TEST_F(VerifyCandidatesTest, TellsHowFarItIsBeforeEachBatch) {
  verifier_.latency_us = {{"base", 100}, {"1", 90}, {"2", 80}, {"3", 70}, {"4", 60}};
  Listener listener;
  ASSERT_TRUE(
      VerifyCandidates(Candidates(4), {}, {verifier_, budget_, log_, {0.01, 20}, &listener}).ok());
  ASSERT_EQ(listener.fractions.size(), verifier_.calls.size());
  EXPECT_EQ(listener.fractions.front(), kVerificationFraction);
  EXPECT_TRUE(std::is_sorted(listener.fractions.begin(), listener.fractions.end()));
  EXPECT_LT(listener.fractions.back(), 1);
  EXPECT_TRUE(std::is_sorted(listener.seconds.rbegin(), listener.seconds.rend()));
  EXPECT_GT(listener.seconds.back(), 0);
}

TEST_F(VerifyCandidatesTest, TellsOfEachFurtherLook) {
  DisturbFirstLoads(verifier_);
  Listener listener;
  ASSERT_TRUE(
      VerifyCandidates(Candidates(1), {}, {verifier_, budget_, log_, {0.01, 20}, &listener}).ok());
  ASSERT_EQ(listener.fractions.size(), 2u);
  EXPECT_LT(listener.fractions[0], listener.fractions[1]);
  EXPECT_LT(listener.fractions[1], 1);
  EXPECT_GT(listener.seconds[1], 0);
}

TEST_F(VerifyCandidatesTest, TellsTheBestMeasuredSpeedupWheneverItChanges) {
  verifier_.latency_us = {{"base", 100}, {"1", 80}, {"2", 90}, {"3", 95}, {"4", 50}};
  Listener listener;
  ASSERT_TRUE(
      VerifyCandidates(Candidates(4), {}, {verifier_, budget_, log_, {0.01, 20}, &listener}).ok());
  EXPECT_THAT(listener.measured, ElementsAre(1.25, 2));
}

TEST_F(VerifyCandidatesTest, TheNextBestIsAskedWhenTheFinalistIsWrong) {
  verifier_.latency_us = {{"base", 100}, {"1", 90}, {"2", 50}};
  verifier_.change["2"] = [](auto& m) { m.equivalence.verdict = Verdict::kDifferent; };
  const auto result = Verify(Candidates(2));
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->winner, 1);
}

// Otherwise each further one would be another chance to accept what is slower.
TEST_F(VerifyCandidatesTest, OneFinalistIsJudgedAndNoOther) {
  verifier_.latency_us = {{"base", 100}, {"1", 90}, {"2", 95}};
  verifier_.change["1"] = [](auto& m) {
    if (m.latency_us.size() == 72) m.latency_us.assign(72, 100);
  };
  const auto result = Verify(Candidates(2));
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_THAT(verifier_.calls, ElementsAre("1x5: base 1 2", "6x12: base 1"));
  EXPECT_EQ(result->winner, 0);
}

TEST_F(VerifyCandidatesTest, AllSamplesChooseTheFinalist) {
  verifier_.latency_us = {{"base", 100}, {"1", 80}, {"2", 85}, {"3", 90}};
  // Lucky in its first batch only.
  int batches = 0;
  verifier_.change["3"] = [&](auto& m) {
    if (++batches == 1) m.latency_us.assign(5, 79);
  };
  const auto result = Verify(Candidates(3));
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(verifier_.calls[2], "1x5: base 3 1");
  EXPECT_EQ(result->winner, 1);
}

// What the machine does in a round it does to both: "1" is 2 % faster in every one.
TEST_F(VerifyCandidatesTest, RatiosArePairedByRound) {
  const auto slow_half = [](CandidateMeasurement& m) {
    for (size_t i = m.latency_us.size() / 2; i < m.latency_us.size(); ++i) m.latency_us[i] *= 10;
  };
  verifier_.latency_us = {{"base", 100}, {"1", 98}};
  verifier_.change = {{"base", slow_half}, {"1", slow_half}};
  const auto result = Verify(Candidates(1));
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->winner, 1);
  EXPECT_NEAR(result->speedup.median, 100.0 / 98, 1e-9);
}

TEST_F(VerifyCandidatesTest, TheBaselineAloneStays) {
  verifier_.latency_us = {{"base", 100}};
  const auto result = Verify(Candidates(0));
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->winner, 0);
  EXPECT_EQ(result->candidates_measured, 0);
  EXPECT_EQ(result->baseline.latency_us.size(), 12u);
}

TEST_F(VerifyCandidatesTest, ABaselineWithoutCandidatesIsMeasuredWell) {
  verifier_.latency_us = {{"base", 100}};
  const auto result = Verify(Candidates(0));
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_THAT(verifier_.calls, ElementsAre("1x12: base"));
  EXPECT_EQ(log_.time_answers().size(), budget_.asked.size());
}

TEST_F(VerifyCandidatesTest, ReportsAVerifierThatDoesNotAnswer) {
  const auto verify = [&](ScriptedVerifier& verifier) {
    return VerifyCandidates(Candidates(1), {}, {verifier, budget_, log_, {}}).status();
  };
  ScriptedVerifier forgets;
  forgets.latency_us = {{"base", 100}, {"1", 50}};
  forgets.answers_too_little = true;
  EXPECT_EQ(verify(forgets).code(), absl::StatusCode::kInternal);

  ScriptedVerifier gone;
  gone.status = absl::UnavailableError("the device is gone");
  EXPECT_EQ(verify(gone).code(), absl::StatusCode::kUnavailable);

  ScriptedVerifier broken;
  broken.latency_us = {{"base", 100}, {"1", 50}};
  broken.change["base"] = [](auto& m) {
    m.latency_us.clear();
    m.load_rounds.clear();
    m.error = "no memory";
  };
  const absl::Status status = verify(broken);
  EXPECT_EQ(status.code(), absl::StatusCode::kInternal);
  EXPECT_THAT(std::string(status.message()), HasSubstr("no memory"));
}

TEST(AddRoundsTest, SaysWhatTheClockWasInAllOfThem) {
  CandidateMeasurement measurement;
  measurement.latency_us = {1};
  measurement.load_rounds = {1};
  measurement.clock = {1980, 1980, 3, 0, {}};
  CandidateMeasurement more = measurement;
  more.clock = {1755, 1980, 4, 1, {"power"}};
  AddRounds(more, measurement);
  EXPECT_EQ(measurement.latency_us, std::vector<double>({1, 1}));
  EXPECT_EQ(measurement.clock, (DeviceClock{1755, 1980, 7, 1, {"power"}}));
}

}  // namespace
}  // namespace plait
