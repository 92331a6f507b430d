#include "server/search_child/runtime_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace plait {
namespace {

using ::testing::HasSubstr;

RuntimeDecision DecisionOf(const std::string& runtime, const std::vector<double>& latency_us) {
  RuntimeDecision decision;
  decision.runtime = runtime;
  decision.options = "of " + runtime;
  decision.original.latency_us = latency_us;
  decision.model.latency_us = latency_us;
  return decision;
}

v1::Report ReportOf(const std::vector<double>& plaits_us,
                    const std::vector<RuntimeDecision>& decisions, bool has_islands = false,
                    const std::optional<RuntimeDecision>& whole = {}) {
  SearchResult found;
  found.baseline_latency_us = found.optimized_latency_us = plaits_us;
  found.islands.resize(has_islands ? 1 : 0);
  v1::Report report;
  AddRuntimes(internal::Start(), found, {decisions, whole}, report);
  return report;
}

TEST(RuntimeReportTest, RecommendsTheFastest) {
  const v1::Report report =
      ReportOf({20, 20, 20}, {DecisionOf("slow", {30, 30, 30}), DecisionOf("fast", {10, 10, 10})});
  EXPECT_EQ(report.recommended().runtime(), "fast");
  EXPECT_EQ(report.recommended().options(), "of fast");
  EXPECT_EQ(report.recommended().latency_us(), 10);
}

TEST(RuntimeReportTest, WhatWasDisturbedForHalfOfItsRoundsIsNoSlowerForThat) {
  const v1::Report report =
      ReportOf({10, 10, 19, 19, 19}, {DecisionOf("steady", {13, 13, 13, 13, 13})});
  EXPECT_EQ(report.recommended().runtime(), "plait");
  EXPECT_EQ(report.recommended().latency_us(), 19);
}

// Of which it has no time of the whole.
TEST(RuntimeReportTest, PlaitIsNotRecommendedForAModelOfWhichItTimesParts) {
  const std::vector<RuntimeDecision> others = {DecisionOf("other", {30}), DecisionOf("none", {})};
  v1::Report report = ReportOf({20}, others, /*has_islands=*/true);
  EXPECT_EQ(report.recommended().runtime(), "other");
  EXPECT_THAT(report.runtimes(0).note(), HasSubstr("it may be the fastest"));
  EXPECT_EQ(report.runtimes(1).note(), "");
  // Whatever the other nodes take.
  report = ReportOf({40}, others, /*has_islands=*/true);
  EXPECT_THAT(report.runtimes(0).note(), HasSubstr("even so it is not the fastest"));
  report = ReportOf({20}, {}, /*has_islands=*/true);
  EXPECT_FALSE(report.has_recommended());
  EXPECT_THAT(report.runtimes(0).note(), HasSubstr("the whole has no time"));
}

TEST(RuntimeReportTest, PlaitIsRecommendedWhereTheWholeWasMeasuredAndIsTheFastest) {
  const std::vector<RuntimeDecision> others = {DecisionOf("other", {30})};
  RuntimeDecision whole = DecisionOf("plaitsession", {25});
  whole.version = "1.2";
  whole.original.latency_us = {50};
  whole.speedup = {.median = 2, .low = 1.5, .high = 2.5};
  v1::Report report = ReportOf({20}, others, /*has_islands=*/true, whole);
  EXPECT_EQ(report.recommended().runtime(), "plait");
  EXPECT_EQ(report.recommended().latency_us(), 25);
  ASSERT_EQ(report.runtimes_size(), 2);
  EXPECT_EQ(report.runtimes(0).runtime(), "plait");
  EXPECT_EQ(report.runtimes(0).original_us_median(), 50);
  EXPECT_EQ(report.runtimes(0).ratio(), 2);
  EXPECT_THAT(report.runtimes(0).note(), HasSubstr("plait.InferenceSession 1.2"));
  whole.model.latency_us = {35};
  report = ReportOf({20}, others, /*has_islands=*/true, whole);
  EXPECT_EQ(report.recommended().runtime(), "other");
  whole.note = "it crashed";
  report = ReportOf({20}, others, /*has_islands=*/true, whole);
  EXPECT_EQ(report.recommended().runtime(), "other");
  EXPECT_EQ(report.runtimes(0).latency_us_median(), 20);
  EXPECT_THAT(report.runtimes(0).note(), HasSubstr("the whole has no time"));
  EXPECT_THAT(report.runtimes(0).note(), HasSubstr("it crashed"));
}

}  // namespace
}  // namespace plait
