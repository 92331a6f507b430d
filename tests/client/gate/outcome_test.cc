#include "client/gate/outcome.h"

#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace plait {
namespace {

using testing::HasSubstr;
using testing::Not;

GateReport ReportOf(GateVerdict verdict) {
  GateReport report;
  report.base = {
      "a<b>&\"c\"|d.onnx", true, {{"grade", "exact"}, {"explanation", "as it was measured"}}};
  report.changed = {
      "new\n_[x].onnx", false, {{"grade", "default"}, {"explanation", "for 2 <threads>, not_1"}}};
  report.device.name = "Some CPU";
  report.outcome = {verdict, 1.034, 1.021, 1.048, 10, 12.5, {100, 101, 102}, {103, 104, 105}};
  return report;
}

TEST(GateOutcomeTest, SaysTheVerdictFirst) {
  EXPECT_THAT(GateTable(ReportOf(GateVerdict::kFail)),
              testing::StartsWith("fail: the new model's time differs by +3.40 % (between +2.10 % "
                                  "and +4.80 %, allowed +2.00 %) over 10 loads\n"));
  EXPECT_THAT(GateTable(ReportOf(GateVerdict::kPass)), testing::StartsWith("pass: "));
}

TEST(GateOutcomeTest, AnotherRuntimeIsNamedWithItsSettings) {
  GateReport report = ReportOf(GateVerdict::kPass);
  EXPECT_EQ(GateJson(report)["runtime"], "plait");
  EXPECT_TRUE(GateJson(report)["runtime_settings"].is_null());
  EXPECT_THAT(GateMarkdown(report), HasSubstr("\nOn Some CPU, in "));
  report.runtime = "openvino";
  report.runtime_settings = "threads=2";
  report.device.name = "OpenVINO 9";
  EXPECT_EQ(GateJson(report)["runtime"], "openvino");
  EXPECT_EQ(GateJson(report)["runtime_settings"], "threads=2");
  EXPECT_THAT(GateTable(report), HasSubstr("\nin OpenVINO 9, threads=2\n"));
  EXPECT_THAT(GateMarkdown(report), HasSubstr("\nIn OpenVINO 9, in "));
}

TEST(GateOutcomeTest, TellsThePlanOfEachSideEverywhere) {
  const GateReport report = ReportOf(GateVerdict::kPass);
  const wire::Json json = GateJson(report);
  EXPECT_EQ(json["base"]["plan"]["grade"], "exact");
  EXPECT_EQ(json["base"]["plan"]["explanation"], "as it was measured");
  EXPECT_EQ(json["new"]["plan"]["grade"], "default");
  EXPECT_EQ(json["base"]["embedded_plan"], true);
  EXPECT_EQ(json["new"]["embedded_plan"], false);
  EXPECT_THAT(GateTable(report), HasSubstr("plan of base, exact: as it was measured\n"
                                           "plan of new, default: for 2 <threads>, not_1\n"));
  EXPECT_THAT(GateJunit(report),
              HasSubstr("\nplan of new, default: for 2 &lt;threads&gt;, not_1\n</system-out>"));
  EXPECT_THAT(GateMarkdown(report), HasSubstr("\n\nplan of base, exact: as it was measured\n\n"
                                              "plan of new, default: for 2 \\<threads\\>, "
                                              "not\\_1\n\n"));
}

TEST(GateOutcomeTest, AnotherRuntimeHasNoPlans) {
  GateReport report = ReportOf(GateVerdict::kPass);
  report.runtime = "openvino";
  report.base.plan = report.changed.plan = nullptr;
  EXPECT_TRUE(GateJson(report)["base"]["plan"].is_null());
  EXPECT_THAT(GateTable(report), Not(HasSubstr("plan of")));
  EXPECT_THAT(GateJunit(report), Not(HasSubstr("plan of")));
  EXPECT_THAT(GateMarkdown(report), Not(HasSubstr("plan of")));
}

TEST(GateOutcomeTest, BoundsThatAreNotKnownAreNull) {
  GateReport report = ReportOf(GateVerdict::kInconclusive);
  report.outcome.ratio_low = 0;
  report.outcome.ratio_high = std::numeric_limits<double>::infinity();
  const wire::Json json = wire::Json::parse(wire::JsonText(GateJson(report)), nullptr, false);
  EXPECT_TRUE(json["ratio"]["low"].is_null());
  EXPECT_TRUE(json["ratio"]["high"].is_null());
  EXPECT_EQ(json["verdict"], "inconclusive");
  EXPECT_THAT(GateSentence(report), HasSubstr("between unknown and unknown"));
}

TEST(GateOutcomeTest, JunitCountsEachVerdictAsWhatItIs) {
  const std::string fail = GateJunit(ReportOf(GateVerdict::kFail));
  EXPECT_THAT(fail, HasSubstr("failures=\"1\" errors=\"0\" skipped=\"0\" time=\"12.500\""));
  EXPECT_THAT(fail, HasSubstr("<failure type=\"regression\" message=\"fail: "));
  const std::string open = GateJunit(ReportOf(GateVerdict::kInconclusive));
  EXPECT_THAT(open, HasSubstr("failures=\"0\" errors=\"0\" skipped=\"1\""));
  EXPECT_THAT(open, HasSubstr("<skipped message=\"inconclusive: "));
  const std::string pass = GateJunit(ReportOf(GateVerdict::kPass));
  EXPECT_THAT(pass, HasSubstr("failures=\"0\" errors=\"0\" skipped=\"0\""));
  EXPECT_THAT(pass, Not(HasSubstr("message=")));
}

TEST(GateOutcomeTest, NamesCannotBreakOutOfTheirPlace) {
  const GateReport report = ReportOf(GateVerdict::kPass);
  EXPECT_THAT(GateJunit(report), HasSubstr("a&lt;b&gt;&amp;&quot;c&quot;|d.onnx"));
  EXPECT_THAT(GateJunit(report), HasSubstr("name=\"new _[x].onnx against"));
  EXPECT_THAT(GateMarkdown(report), HasSubstr("| base | a\\<b\\>&\"c\"\\|d.onnx | 101.0 |"));
  EXPECT_THAT(GateMarkdown(report), HasSubstr("| new | new \\_\\[x\\].onnx | 104.0 |"));
}

}  // namespace
}  // namespace plait
