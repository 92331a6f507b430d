#include "optimizer/search/verify_candidates.h"

#include <functional>
#include <map>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"

namespace plait {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// Measures what the test says; writes down what it was asked, as "rounds: ids".
class ScriptedVerifier : public Verifier {
 public:
  absl::StatusOr<std::vector<CandidateMeasurement>> Verify(
      absl::Span<const PlanCandidate> candidates, int rounds) override {
    std::string call = absl::StrCat(rounds, ":");
    std::vector<CandidateMeasurement> measurements;
    for (const PlanCandidate& candidate : candidates) {
      absl::StrAppend(&call, " ", candidate.id);
      CandidateMeasurement measurement;
      measurement.latency_us.assign(static_cast<size_t>(rounds), latency_us[candidate.id]);
      measurement.equivalence = {Verdict::kEquivalent, 0, 0, 3};
      const auto changed = change.find(candidate.id);
      if (changed != change.end()) changed->second(measurement);
      measurements.push_back(std::move(measurement));
    }
    calls.push_back(call);
    if (answers_too_little) measurements.pop_back();
    if (!status.ok()) return status;
    return measurements;
  }

  std::map<std::string, double> latency_us;
  std::map<std::string, std::function<void(CandidateMeasurement&)>> change;
  bool answers_too_little = false;
  absl::Status status;
  std::vector<std::string> calls;
};

// The baseline "base" and candidates "1", "2" and so on.
std::vector<PlanCandidate> Candidates(int count) {
  std::vector<PlanCandidate> candidates;
  for (int i = 0; i <= count; ++i) {
    candidates.push_back({i == 0 ? "base" : absl::StrCat(i), Graph(), Plan()});
  }
  return candidates;
}

TEST(VerifyCandidatesTest, HalvesTheFieldUntilTwoAreLeft) {
  ScriptedVerifier verifier;
  verifier.latency_us = {{"base", 100}, {"1", 90}, {"2", 80}, {"3", 70}, {"4", 60},
                         {"5", 50},     {"6", 95}, {"7", 55}, {"8", 85}};
  MeasurementLog log;
  const auto result = VerifyCandidates(Candidates(8), {}, verifier, log);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_THAT(verifier.calls,
              ElementsAre("10: base 1 2 3 4 5 6 7 8", "20: base 5 7 4 3", "40: base 5 7"));
  EXPECT_EQ(result->winner, 5);
  EXPECT_EQ(result->candidates_measured, 8);
  EXPECT_DOUBLE_EQ(result->speedup.low, 2);
  EXPECT_DOUBLE_EQ(result->speedup.median, 2);
  EXPECT_EQ(result->baseline.latency_us.size(), 40u);
  EXPECT_EQ(result->optimized.candidate, "5");
  EXPECT_EQ(log.verifications().size(), 3u);
}

TEST(VerifyCandidatesTest, OneBatchIsEnoughForTwo) {
  ScriptedVerifier verifier;
  verifier.latency_us = {{"base", 100}, {"1", 90}, {"2", 80}};
  MeasurementLog log;
  const auto result = VerifyCandidates(Candidates(2), {}, verifier, log);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_THAT(verifier.calls, ElementsAre("40: base 1 2"));
  EXPECT_EQ(result->winner, 2);
}

TEST(VerifyCandidatesTest, TheBaselineStaysWhenNothingIsBetterForSure) {
  struct Case {
    const char* name;
    std::function<void(CandidateMeasurement&)> change;
  };
  const std::vector<Case> cases = {
      {"slower", [](auto& m) { m.latency_us.assign(40, 101); }},
      {"as fast", [](auto& m) { m.latency_us.assign(40, 100); }},
      // Faster in 21 rounds of 40, so its median is, but not its interval's lower end.
      {"within the noise",
       [](auto& m) {
         for (size_t i = 0; i < 40; ++i) m.latency_us[i] = i < 21 ? 98 : 110;
       }},
      {"other outputs", [](auto& m) { m.equivalence.verdict = Verdict::kDifferent; }},
      {"not compared", [](auto& m) { m.equivalence.verdict = Verdict::kInconclusive; }},
      {"did not run", [](auto& m) { m.error = "out of memory"; }},
      {"no samples", [](auto& m) { m.latency_us.clear(); }},
      {"samples missing", [](auto& m) { m.latency_us.pop_back(); }},
      {"a sample of no time", [](auto& m) { m.latency_us[7] = 0; }},
  };
  for (const Case& test : cases) {
    ScriptedVerifier verifier;
    verifier.latency_us = {{"base", 100}, {"1", 50}};
    verifier.change["1"] = test.change;
    MeasurementLog log;
    const auto result = VerifyCandidates(Candidates(1), {}, verifier, log);
    ASSERT_TRUE(result.ok()) << test.name << result.status();
    EXPECT_EQ(result->winner, 0) << test.name;
    EXPECT_EQ(result->speedup.median, 1) << test.name;
    EXPECT_EQ(result->optimized, result->baseline) << test.name;
    EXPECT_EQ(log.verifications().size(), 1u) << test.name;
  }
}

// Outputs that agree and prove little are the user's to accept; others are nobody's.
TEST(VerifyCandidatesTest, AnInconclusiveCandidateWinsOnlyWhereThatIsAccepted) {
  for (const bool accepted : {false, true}) {
    ScriptedVerifier verifier;
    verifier.latency_us = {{"base", 100}, {"1", 50}, {"2", 40}, {"3", 30}};
    verifier.change["1"] = [](auto& m) { m.equivalence.verdict = Verdict::kInconclusive; };
    verifier.change["2"] = [](auto& m) { m.equivalence = {}; };  // never compared
    verifier.change["3"] = [](auto& m) { m.equivalence.verdict = Verdict::kDifferent; };
    MeasurementLog log;
    const auto result =
        VerifyCandidates(Candidates(3), {.accept_inconclusive = accepted}, verifier, log);
    ASSERT_TRUE(result.ok()) << result.status();
    EXPECT_EQ(result->winner, accepted ? 1 : 0);
  }
}

TEST(VerifyCandidatesTest, TheNextBestWinsWhenTheFastestIsWrong) {
  ScriptedVerifier verifier;
  verifier.latency_us = {{"base", 100}, {"1", 90}, {"2", 50}};
  verifier.change["2"] = [](auto& m) { m.equivalence.verdict = Verdict::kDifferent; };
  MeasurementLog log;
  const auto result = VerifyCandidates(Candidates(2), {}, verifier, log);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->winner, 1);
}

TEST(VerifyCandidatesTest, ALuckyStartDoesNotCount) {
  ScriptedVerifier verifier;
  verifier.latency_us = {{"base", 100}, {"1", 110}, {"2", 110}, {"3", 110}};
  verifier.change["1"] = [](auto& m) {
    if (m.latency_us.size() == 10) m.latency_us.assign(10, 50);
  };
  MeasurementLog log;
  const auto result = VerifyCandidates(Candidates(3), {}, verifier, log);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_THAT(verifier.calls, ElementsAre("10: base 1 2 3", "40: base 1 2"));
  EXPECT_EQ(result->winner, 0);
}

TEST(VerifyCandidatesTest, RanksByThePairedRatioAndNotByTheMean) {
  // In the second half of the rounds everything takes ten times as long; "1" is 2 % faster in
  // every round, "2" much faster in a few and slower in most.
  ScriptedVerifier verifier;
  const auto slow_half = [](CandidateMeasurement& m) {
    for (size_t i = 20; i < 40; ++i) m.latency_us[i] *= 10;
  };
  verifier.latency_us = {{"base", 100}, {"1", 98}, {"2", 101}};
  verifier.change["base"] = slow_half;
  verifier.change["1"] = slow_half;
  verifier.change["2"] = [&](CandidateMeasurement& m) {
    slow_half(m);
    for (size_t i = 30; i < 40; ++i) m.latency_us[i] = 100;
  };
  MeasurementLog log;
  const auto result = VerifyCandidates(Candidates(2), {}, verifier, log);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->winner, 1);
  EXPECT_NEAR(result->speedup.median, 100.0 / 98, 1e-9);
}

TEST(VerifyCandidatesTest, TheBaselineAloneStays) {
  ScriptedVerifier verifier;
  verifier.latency_us = {{"base", 100}};
  MeasurementLog log;
  const auto result = VerifyCandidates(Candidates(0), {}, verifier, log);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->winner, 0);
  EXPECT_EQ(result->candidates_measured, 0);
}

TEST(VerifyCandidatesTest, ReportsAVerifierThatDoesNotAnswer) {
  MeasurementLog log;
  ScriptedVerifier forgets;
  forgets.latency_us = {{"base", 100}, {"1", 50}};
  forgets.answers_too_little = true;
  EXPECT_EQ(VerifyCandidates(Candidates(1), {}, forgets, log).status().code(),
            absl::StatusCode::kInternal);

  ScriptedVerifier gone;
  gone.status = absl::UnavailableError("the device is gone");
  EXPECT_EQ(VerifyCandidates(Candidates(1), {}, gone, log).status().code(),
            absl::StatusCode::kUnavailable);

  ScriptedVerifier broken;
  broken.latency_us = {{"base", 100}, {"1", 50}};
  broken.change["base"] = [](auto& m) {
    m.latency_us.clear();
    m.error = "no memory";
  };
  const absl::Status status = VerifyCandidates(Candidates(1), {}, broken, log).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInternal);
  EXPECT_THAT(std::string(status.message()), HasSubstr("no memory"));
}

}  // namespace
}  // namespace plait
