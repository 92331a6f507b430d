#include <functional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "optimizer/search/verify_candidates.h"
#include "tests/optimizer/search/verify_candidates_fixture.h"

// Candidates that do not win, and what is told of them.

namespace plait {
namespace {

using testing::ElementsAre;

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

}  // namespace
}  // namespace plait
