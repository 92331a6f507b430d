#include "server/search_child/fit_report.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/limits.h"

namespace plait {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

v1::Report WithNames() {
  v1::Report report;
  report.mutable_search()->set_trace("baseline: 1 us");
  report.mutable_model()->add_host_segments()->add_operators("com.example.Frobnicate");
  report.add_plans()->add_shapes()->set_input("x");
  return report;
}

TEST(FitReportTest, ChangesNothingInOneThatFits) {
  v1::Report report = WithNames();
  FitReport(report);
  EXPECT_EQ(report.SerializeAsString(), WithNames().SerializeAsString());
}

TEST(FitReportTest, LeavesOutWhatIsMissedLeast) {
  v1::Report report = WithNames();
  for (int i = 0; i < 256; ++i) {
    v1::HostSegment& segment = *report.mutable_model()->add_host_segments();
    for (int j = 0; j < 64; ++j) segment.add_operators(std::string(kNameBytesMax, 'f'));
  }
  FitReport(report);
  EXPECT_LE(report.ByteSizeLong(), kReportBytesMax);
  EXPECT_EQ(report.model().host_segments_size(), 257);
  EXPECT_EQ(report.model().host_segments(0).operators_size(), 0);
  EXPECT_EQ(report.plans(0).shapes(0).input(), "x");
  EXPECT_THAT(report.warnings(), ElementsAre(HasSubstr("leaves out the trace of the search"),
                                             HasSubstr("the operators of host segments")));
}

TEST(FitReportTest, FallbacksKeepTheirCounts) {
  v1::Report report = WithNames();
  for (int i = 0; i < kReportBytesMax / kNameBytesMax; ++i) {
    v1::FallbackOperator& fallback = *report.mutable_optimized()->add_fallback_operators();
    fallback.set_nodes(1);
    fallback.add_names(std::string(kNameBytesMax, 'n'));
  }
  FitReport(report);
  EXPECT_LE(report.ByteSizeLong(), kReportBytesMax);
  EXPECT_EQ(report.optimized().fallback_operators(0).nodes(), 1);
  EXPECT_EQ(report.optimized().fallback_operators(0).names_size(), 0);
}

TEST(FitReportTest, PlansKeepTheirTimes) {
  v1::Report report = WithNames();
  for (int i = 0; i < kPlansPerModelMax; ++i) {
    v1::PlanReport& plan = *report.add_plans();
    plan.set_latency_us_median(5);
    for (int j = 0; j < kShapesMax; ++j) {
      plan.add_shapes()->set_input(std::string(kNameBytesMax, 'x'));
    }
  }
  FitReport(report);
  EXPECT_LE(report.ByteSizeLong(), kReportBytesMax);
  EXPECT_EQ(report.plans_size(), kPlansPerModelMax + 1);
  EXPECT_EQ(report.plans(1).latency_us_median(), 5);
}

}  // namespace
}  // namespace plait
