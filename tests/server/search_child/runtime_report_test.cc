#include "server/search_child/runtime_report.h"

#include <gtest/gtest.h>

namespace plait {
namespace {

RuntimeDecision DecisionOf(const std::string& runtime, const std::vector<double>& latency_us) {
  RuntimeDecision decision;
  decision.runtime = runtime;
  decision.options = "of " + runtime;
  decision.original.latency_us = latency_us;
  decision.model.latency_us = latency_us;
  return decision;
}

v1::Report ReportOf(const std::vector<double>& plaits_us,
                    const std::vector<RuntimeDecision>& decisions, bool has_islands = false) {
  SearchResult found;
  found.baseline_latency_us = found.optimized_latency_us = plaits_us;
  found.islands.resize(has_islands ? 1 : 0);
  v1::Report report;
  AddRuntimes(internal::Start(), found, decisions, report);
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

TEST(RuntimeReportTest, PlaitIsNotRecommendedForAModelOfWhichItRunsParts) {
  const std::vector<RuntimeDecision> others = {DecisionOf("other", {30}), DecisionOf("none", {})};
  EXPECT_EQ(ReportOf({20}, others, /*has_islands=*/true).recommended().runtime(), "other");
  EXPECT_FALSE(ReportOf({20}, {}, /*has_islands=*/true).has_recommended());
}

}  // namespace
}  // namespace plait
