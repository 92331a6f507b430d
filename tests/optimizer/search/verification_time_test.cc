#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "optimizer/search/verify_candidates.h"
#include "tests/optimizer/search/verify_candidates_fixture.h"

// What a verification does with the time that there is: a budget's, and that of one task.

namespace plait {
namespace {

using testing::ElementsAre;

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

// A machine may become slower than it was when its kernels were profiled.
TEST_F(VerifyCandidatesTest, ABaselineThatIsEndedForItsTimeIsMeasuredInFewestRounds) {
  verifier_.latency_us = {{"base", 100}, {"1", 10}};
  verifier_.status_of_several = absl::DeadlineExceededError("longer than 600 s");
  verifier_.status_of_many_rounds = absl::DeadlineExceededError("longer than 600 s");
  const auto result = Verify(Candidates(1));
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_THAT(verifier_.calls, ElementsAre("6x12: base 1", "1x12: base", "1x3: base"));
  EXPECT_EQ(result->baseline.latency_us.size(), 3u);
  EXPECT_TRUE(result->task_too_long);
}

// Nothing can be said about it then.
TEST_F(VerifyCandidatesTest, ABaselineThatIsEndedForItsTimeFails) {
  verifier_.latency_us = {{"base", 100}, {"1", 10}};
  verifier_.status = absl::DeadlineExceededError("longer than 600 s");
  EXPECT_EQ(Verify(Candidates(1)).status(), verifier_.status);
}

}  // namespace
}  // namespace plait
