#include "optimizer/search/verify_candidates.h"

#include <algorithm>
#include <functional>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "tests/optimizer/search/scripted_verifier.h"

namespace plait {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// The baseline "base" and candidates "1", "2" and so on, each of which runs for so long.
std::vector<PlanCandidate> Candidates(int count, double predicted_us = 100) {
  std::vector<PlanCandidate> candidates;
  for (int i = 0; i <= count; ++i) {
    candidates.push_back({i == 0 ? "base" : absl::StrCat(i), Graph(), Plan(), predicted_us});
  }
  return candidates;
}

class VerifyCandidatesTest : public testing::Test {
 protected:
  absl::StatusOr<VerificationResult> Verify(const std::vector<PlanCandidate>& candidates) {
    return VerifyCandidates(candidates, {}, {verifier_, budget_, log_, {0.01, 20}});
  }

  ScriptedVerifier verifier_;
  ScriptedBudget budget_;
  MeasurementLog log_;
};

TEST_F(VerifyCandidatesTest, ChoosesAFinalistAndThenLetsItDecideAlone) {
  verifier_.latency_us = {{"base", 100}, {"1", 90}, {"2", 80}, {"3", 70},
                          {"4", 60},     {"5", 95}, {"6", 99}};
  const auto result = Verify(Candidates(6));
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_THAT(verifier_.calls, ElementsAre("1x5: base 1 2", "1x5: base 3 4", "1x5: base 5 6",
                                           "1x5: base 4 3", "6x12: base 4"));
  EXPECT_EQ(result->winner, 4);
  EXPECT_EQ(result->candidates_measured, 6);
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

TEST_F(VerifyCandidatesTest, InputsThatAreGivenTakeTimeToo) {
  verifier_.latency_us = {{"base", 1e6}, {"1", 1e6}};
  ASSERT_TRUE(Verify(Candidates(1, 1e6)).ok());
  ASSERT_TRUE(VerifyCandidates(Candidates(1, 1e6), {.given_inputs = 8},
                               {verifier_, budget_, log_, {0.01, 20}})
                  .ok());
  // Two runs of the baseline and one of the candidate, of a second. The others are for more rounds,
  // and more looks.
  ASSERT_EQ(budget_.asked.size(), 6u);
  EXPECT_NEAR(budget_.asked[3] - budget_.asked[0], 8 * (2 + 1), 1e-6);
}

// 72 rounds of both take 72 * 2 * 0.09 s and more.
TEST_F(VerifyCandidatesTest, ASlowModelTakesTheRoundsThatThereIsBudgetFor) {
  verifier_.latency_us = {{"base", 100}, {"1", 90}};
  const auto seconds_of = [&](double predicted_us, double budget_seconds, double task_seconds) {
    ScriptedBudget budget(budget_seconds);
    budget.task_seconds_max = task_seconds;
    MeasurementLog log;
    EXPECT_TRUE(VerifyCandidates(Candidates(1, predicted_us), {}, {verifier_, budget, log}).ok());
    return verifier_.seconds_max.back();
  };
  // 32 seconds by 3/4 again and again.
  EXPECT_EQ(seconds_of(90'000, 1e9, 1e9), 18);
  EXPECT_EQ(seconds_of(90'000, 15, 1e9), 13.5);
  EXPECT_EQ(seconds_of(90'000, 1e9, 10), 7.59375);
  EXPECT_EQ(seconds_of(90'000, 7, 1e9), 5.6953125);
  EXPECT_EQ(seconds_of(1'000'000, 1e9, 1e9), 32);
  EXPECT_EQ(seconds_of(1'000, 1e9, 1e9), 4);
}

// The candidate is 4 % faster, and in the first loads so by 8 and 0 % in turn.
void DisturbFirstLoads(ScriptedVerifier& verifier) {
  verifier.latency_us = {{"base", 104}, {"1", 100}};
  verifier.change["1"] = [&verifier](CandidateMeasurement& m) {
    if (!verifier.calls.empty()) return;
    for (size_t round = 0; round < m.latency_us.size(); ++round) {
      m.latency_us[round] *= round / 12 % 2 == 0 ? 0.96 : 1.04;
    }
  };
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

TEST_F(VerifyCandidatesTest, WithoutBudgetForASecondLookTheFirstDecides) {
  DisturbFirstLoads(verifier_);
  ScriptedBudget budget(5);
  const auto result = VerifyCandidates(Candidates(1, 20'000), {}, {verifier_, budget, log_});
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_THAT(verifier_.calls, ElementsAre("6x12: base 1"));
  EXPECT_EQ(result->winner, 0);
  ASSERT_EQ(result->refused.size(), 1u);
  EXPECT_EQ(result->refused[0].reason, RefusalReason::kNotFaster);
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

// A run of half a second: choosing among six would take longer than deciding.
TEST_F(VerifyCandidatesTest, OfASlowModelOnlyTheBestPredictionIsVerified) {
  verifier_.latency_us = {{"base", 100}, {"1", 90}, {"2", 10}};
  const auto result = Verify(Candidates(6, 500'000));
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_THAT(verifier_.calls, ElementsAre("6x12: base 1"));
  EXPECT_EQ(result->winner, 1);
  EXPECT_EQ(result->candidates_measured, 1);
}

TEST_F(VerifyCandidatesTest, WithoutTheTimeToDecideTheBaselineStays) {
  verifier_.latency_us = {{"base", 100}, {"1", 10}};
  ScriptedBudget short_budget(1);
  const auto result =
      VerifyCandidates(Candidates(2, 500'000), {}, {verifier_, short_budget, log_, {0.01, 20}});
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->winner, 0);
  // A report tells the original's time all the same, and takes no more of it than that needs.
  EXPECT_THAT(verifier_.calls, ElementsAre("1x3: base"));
  EXPECT_EQ(result->baseline.latency_us.size(), 3u);
  // Two plans, 15 rounds.
  EXPECT_GT(result->seconds_needed, 2 * 15 * 0.5);
  EXPECT_LT(result->seconds_needed, 2 * 32 * 0.5);
}

// Two plans of 12 s, 24 runs of the baseline and 22 of the candidate.
TEST_F(VerifyCandidatesTest, WhatTakesLongerThanATaskMayIsNotCompared) {
  verifier_.latency_us = {{"base", 100}, {"1", 10}, {"2", 10}};
  budget_.task_seconds_max = 480;
  const auto result = Verify(Candidates(2, 10'000'000));
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_THAT(verifier_.calls, ElementsAre("1x12: base"));
  EXPECT_EQ(result->winner, 0);
  EXPECT_TRUE(result->task_too_long);
  EXPECT_EQ(result->seconds_needed, 0) << "more budget would not help";
  EXPECT_FALSE(log_.time_answers().front()) << "a replay does the same";

  budget_.task_seconds_max = 600;
  const auto allowed = Verify(Candidates(2, 10'000'000));
  ASSERT_TRUE(allowed.ok()) << allowed.status();
  EXPECT_EQ(allowed->winner, 1);
  EXPECT_FALSE(allowed->task_too_long);
}

TEST_F(VerifyCandidatesTest, TheBaselineStaysWhenAComparisonIsEndedForItsTime) {
  for (const int count : {1, 4}) {
    ScriptedVerifier verifier;
    verifier.latency_us = {{"base", 100}, {"1", 10}, {"2", 10}, {"3", 10}, {"4", 10}};
    verifier.status_of_several = absl::DeadlineExceededError("longer than 600 s");
    MeasurementLog log;
    const auto result =
        VerifyCandidates(Candidates(count), {}, {verifier, budget_, log, {0.01, 20}});
    ASSERT_TRUE(result.ok()) << result.status();
    EXPECT_EQ(verifier.calls.size(), 2u) << "what is too long once is too long";
    EXPECT_EQ(verifier.calls.back(), "1x12: base");
    EXPECT_EQ(result->winner, 0);
    EXPECT_TRUE(result->task_too_long);
    EXPECT_EQ(result->candidates_measured, 0);
    EXPECT_EQ(result->baseline.latency_us.size(), 12u);

    const absl::StatusOr<MeasurementLog> read = MeasurementLog::Parse(log.ToText());
    ASSERT_TRUE(read.ok()) << read.status();
    ReplayingVerifier replayed(*read);
    ReplayingBudget budget(*read);
    MeasurementLog again;
    const auto repeated =
        VerifyCandidates(Candidates(count), {}, {replayed, budget, again, {0.01, 20}});
    ASSERT_TRUE(repeated.ok()) << repeated.status();
    EXPECT_EQ(repeated->baseline, result->baseline);
    EXPECT_TRUE(repeated->task_too_long);
    EXPECT_EQ(again, log);
  }
}

// Nothing can be said about it then.
TEST_F(VerifyCandidatesTest, ABaselineThatIsEndedForItsTimeFails) {
  verifier_.latency_us = {{"base", 100}, {"1", 10}};
  verifier_.status = absl::DeadlineExceededError("longer than 600 s");
  EXPECT_EQ(Verify(Candidates(1)).status(), verifier_.status);
}

TEST_F(VerifyCandidatesTest, ABaselineWithoutCandidatesIsMeasuredWell) {
  verifier_.latency_us = {{"base", 100}};
  const auto result = Verify(Candidates(0));
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_THAT(verifier_.calls, ElementsAre("1x12: base"));
  EXPECT_EQ(log_.time_answers().size(), budget_.asked.size());
}

TEST_F(VerifyCandidatesTest, TheBaselineStaysWhenNothingIsBetterForSure) {
  struct Case {
    const char* name;
    std::function<void(CandidateMeasurement&)> change;
    size_t looks = 1;
  };
  const std::vector<Case> cases = {
      {"slower", [](auto& m) { m.latency_us.assign(72, 101); }},
      {"as fast", [](auto& m) { m.latency_us.assign(72, 100); }},
      {"faster in some loads",
       [](auto& m) {
         for (size_t i = 0; i < 72; ++i) m.latency_us[i] = i < 36 ? 90 : 106;
       },
       kLooksMax},
      {"other outputs", [](auto& m) { m.equivalence.verdict = Verdict::kDifferent; }},
      {"not compared", [](auto& m) { m.equivalence.verdict = Verdict::kInconclusive; }},
      {"did not run", [](auto& m) { m.error = "out of memory"; }},
      {"no samples", [](auto& m) { m.latency_us.clear(); }},
      {"samples missing", [](auto& m) { m.latency_us.pop_back(); }},
      {"loads that do not fit", [](auto& m) { m.load_rounds = {72}; }},
      {"a load without rounds",
       [](auto& m) {
         m.load_rounds = {36, 36, 0};
       }},
      {"a sample of no time", [](auto& m) { m.latency_us[7] = 0; }},
  };
  for (const Case& test : cases) {
    ScriptedVerifier verifier;
    verifier.latency_us = {{"base", 100}, {"1", 50}};
    verifier.change["1"] = test.change;
    MeasurementLog log;
    const auto result = VerifyCandidates(Candidates(1), {}, {verifier, budget_, log, {0.01, 20}});
    ASSERT_TRUE(result.ok()) << test.name << result.status();
    EXPECT_EQ(result->winner, 0) << test.name;
    EXPECT_EQ(result->speedup.median, 1) << test.name;
    EXPECT_EQ(result->optimized, result->baseline) << test.name;
    EXPECT_EQ(log.verifications().size(), test.looks) << test.name;
  }
}

// Outputs that agree and prove little are the user's to accept; others are nobody's.
TEST_F(VerifyCandidatesTest, AnInconclusiveCandidateWinsOnlyWhereThatIsAccepted) {
  for (const bool accepted : {false, true}) {
    ScriptedVerifier verifier;
    verifier.latency_us = {{"base", 100}, {"1", 50}, {"2", 40}, {"3", 30}};
    verifier.change["1"] = [](auto& m) { m.equivalence.verdict = Verdict::kInconclusive; };
    verifier.change["2"] = [](auto& m) { m.equivalence = {}; };  // never compared
    verifier.change["3"] = [](auto& m) { m.equivalence.verdict = Verdict::kDifferent; };
    MeasurementLog log;
    const auto result = VerifyCandidates(Candidates(3), {.accept_inconclusive = accepted},
                                         {verifier, budget_, log, {0.01, 20}});
    ASSERT_TRUE(result.ok()) << result.status();
    EXPECT_EQ(result->winner, accepted ? 1 : 0);
  }
}

// "candidate by its predicted speed-up, reason", of all.
std::vector<std::string> TextsOf(const std::vector<Refusal>& refusals) {
  std::vector<std::string> texts;
  for (const Refusal& refusal : refusals) {
    texts.push_back(
        absl::StrCat(refusal.predicted_speedup, " ", RefusalReasonName(refusal.reason)));
  }
  return texts;
}

TEST_F(VerifyCandidatesTest, TellsOfAllThatRanWhyTheBaselineStays) {
  std::vector<PlanCandidate> candidates = Candidates(4);
  for (int i = 1; i <= 4; ++i) candidates[i].predicted_us = 20 * i;
  verifier_.latency_us = {{"base", 100}, {"1", 90}, {"2", 101}, {"3", 102}, {"4", 50}};
  verifier_.change["1"] = [](auto& m) {
    m.equivalence = {.verdict = Verdict::kDifferent, .max_rel_error = 3e-4};
  };
  verifier_.change["4"] = [](auto& m) { m.error = "out of memory"; };
  const auto result = Verify(candidates);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->winner, 0);
  ASSERT_THAT(TextsOf(result->refused),
              ElementsAre("5 different", "2.5 not_faster", "1.66667 not_chosen", "1.25 failed"));
  EXPECT_EQ(result->refused[0].error, 3e-4);
  EXPECT_EQ(result->refused[0].limit, 1e-4);
  EXPECT_NEAR(result->refused[1].speedup, 100.0 / 101, 1e-9);
  EXPECT_EQ(result->refused[1].latency_us, 101);

  ReplayingVerifier replayed(log_);
  ReplayingBudget budget(log_);
  MeasurementLog again;
  const auto repeated = VerifyCandidates(candidates, {}, {replayed, budget, again, {0.01, 20}});
  ASSERT_TRUE(repeated.ok()) << repeated.status();
  EXPECT_EQ(repeated->refused, result->refused);
}

TEST_F(VerifyCandidatesTest, BesideAWinnerOnlyWhatIsWrongIsTold) {
  verifier_.latency_us = {{"base", 100}, {"1", 90}, {"2", 80}, {"3", 70}};
  verifier_.change["3"] = [](auto& m) { m.equivalence.verdict = Verdict::kDifferent; };
  const auto result = Verify(Candidates(3));
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->winner, 2);
  EXPECT_THAT(TextsOf(result->refused), ElementsAre("1 different"));
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

}  // namespace
}  // namespace plait
