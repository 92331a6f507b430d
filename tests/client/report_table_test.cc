#include "client/report_table.h"

#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "tests/proto/wire/example_report.h"

namespace plait {
namespace {

TEST(ReportTableTest, PrintsATableForPeople) {
  EXPECT_EQ(ReportTable(ExampleReport(), false),
            "model        12 nodes on cpu (Processor)\n"
            "latency, us        median          p10          p95   kernels\n"
            "  baseline          100.1         99.0        110.0        12\n"
            "  optimized          50.0         49.0         55.0         6\n"
            "speedup      2.002 (1.900 to 2.100 when measured again)\n"
            "formats      channels_last 75.0%, plain 25.0% of the FLOPs\n"
            "copies       1 of 6 kernels\n"
            "load         6.0 ms, baseline 4.5 ms\n"
            "outputs      equivalent: max abs error 1e-06, max rel error 2e-07, 3 inputs, "
            "2 other shapes\n"
            "kept plans   1 for other devices, threads or shapes\n"
            "runtimes, us     original     returned     ratio\n"
            "  plait             100.1         50.0     2.002 (1.900 to 2.100)\n"
            "  openvino    not measured  no such operator\n"
            "recommended  plait: 50.0 us, threads=2\n"
            "rules        remove_identity x 2\n"
            "search       0.50 s searching, 0.00 s profiling, 0.00 s verifying\n"
            "             7 candidates (0 measured), 0 profiles measured, 0 cached\n"
            "output       out.onnx\n");
}

TEST(ReportTableTest, SaysThatADescribedDeviceWasNotMeasured) {
  v1::Report report = ExampleReport();
  report.mutable_device()->set_id("model:h200");
  report.mutable_device()->set_predicted(true);
  report.mutable_baseline()->set_predicted_us_low(80);
  report.mutable_baseline()->set_predicted_us_high(120.5);
  report.mutable_optimized()->set_predicted_us(49);
  report.clear_runtimes();
  report.mutable_optimized()->clear_load_ms();
  const std::string table = ReportTable(report, false);
  EXPECT_EQ(table.substr(0, table.find("formats")),
            "model        12 nodes on model:h200 (Processor), predicted, not measured\n"
            "predicted, us      one run   kernels  with other constants\n"
            "  baseline            98.0        12  [80.0, 120.5]\n"
            "  optimized           49.0         6\n"
            "speedup      2.002 [1.900, 2.100], predicted\n");
  EXPECT_THAT(table, testing::Not(testing::HasSubstr("\nload ")));
}

TEST(ReportTableTest, NamesWhatRunsAsReferenceCode) {
  v1::Report report = ExampleReport();
  report.mutable_optimized()->set_fallback_nodes(3);
  EXPECT_THAT(ReportTable(report, false),
              testing::HasSubstr("fallback     3 nodes run as slow reference code\n"));
  for (const char* const op_type : {"NonZero", "TopK"}) {
    v1::FallbackOperator& fallback = *report.mutable_optimized()->add_fallback_operators();
    fallback.set_op_type(op_type);
    fallback.set_nodes(op_type[0] == 'N' ? 2 : 1);
  }
  EXPECT_THAT(ReportTable(report, false),
              testing::HasSubstr("slow reference code: NonZero x 2, TopK x 1\n"));
}

TEST(ReportTableTest, SaysHowManyProfilesOthersDisturbed) {
  v1::Report report = ExampleReport();
  report.mutable_search()->set_profiles_measured(40);
  report.mutable_search()->set_profiles_unsteady(7);
  EXPECT_THAT(ReportTable(report, false),
              testing::HasSubstr("40 profiles measured, 0 cached\n"
                                 "             7 of the profiles are unsteady, since the device's "
                                 "speed moved: later jobs measure them again\n"));
}

TEST(ReportTableTest, SaysNothingOfAPlanThatTheReportDoesNotDescribe) {
  v1::Report report = ExampleReport();
  report.mutable_optimized()->clear_formats();
  report.mutable_optimized()->clear_copies();
  report.mutable_optimized()->clear_load_ms();
  EXPECT_THAT(ReportTable(report, false), testing::HasSubstr("measured again)\noutputs      "));
}

TEST(ReportTableTest, HasTheErrorsOfEachOfTheFirstOutputs) {
  v1::Report report = ExampleReport();
  v1::EquivalenceReport& equivalence = *report.mutable_equivalence();
  equivalence.clear_outputs();
  for (int i = 0; i < 10; ++i) {
    v1::OutputError& output = *equivalence.add_outputs();
    output.set_name(absl::StrCat("y", i));
    output.set_max_abs_error(1e-6 * i);
    output.set_max_rel_error(2e-7 * i);
    output.set_rms_error(3e-8 * i);
  }
  const std::string table = ReportTable(report, false);
  EXPECT_THAT(table, testing::HasSubstr("2 other shapes\n"
                                        "             y0: 0, 0, rms error 0\n"
                                        "             y1: 1e-06, 2e-07, rms error 3e-08\n"));
  EXPECT_THAT(table, testing::HasSubstr("             y7: 7e-06, 1.4e-06, rms error 2.1e-07\n"
                                        "             and 2 outputs more (--json has them)\n"
                                        "kept plans"));
}

TEST(ReportTableTest, SaysNothingOfRuntimesWherePlaitIsTheOnlyOne) {
  v1::Report report = ExampleReport();
  report.mutable_runtimes()->RemoveLast();
  EXPECT_THAT(ReportTable(report, false), testing::Not(testing::HasSubstr("recommended")));
}

// What the table says of why the original was kept.
std::string KeptBy(const v1::Refusal& refusal) {
  v1::Report report = ExampleReport();
  report.mutable_optimized()->set_origin("baseline");
  report.clear_refused();
  *report.add_refused() = refusal;
  const std::string table = ReportTable(report, false);
  const size_t begin = table.find("kept  ");
  return begin == std::string::npos ? "" : table.substr(begin, table.find('\n', begin) - begin);
}

TEST(ReportTableTest, SaysWhyTheOriginalWasKept) {
  v1::Refusal refusal = ExampleReport().refused(0);
  EXPECT_EQ(KeptBy(refusal),
            "kept         the original: the best candidate (predicted 2.45x) differs by 3.2e-04 at "
            "output \"boxes\" (limit 1e-04); --max-rel-error 1e-03 would accept it");
  refusal.set_error(0.5);
  EXPECT_THAT(KeptBy(refusal), testing::EndsWith("(limit 1e-04)")) << "that is no rounding";
  refusal.set_error(std::numeric_limits<double>::infinity());
  EXPECT_THAT(KeptBy(refusal), testing::EndsWith("at output \"boxes\" in what no limit accepts"));
  refusal.set_reason(v1::REFUSAL_REASON_NOT_FASTER);
  EXPECT_THAT(KeptBy(refusal),
              testing::EndsWith("ran at 2.250x in 45.0 us, of which 2.000x is certain"));
  v1::Refusal predicted = refusal;
  predicted.clear_latency_us_median();
  predicted.set_speedup_certain(0.98);
  EXPECT_THAT(
      KeptBy(predicted),
      testing::EndsWith("(predicted 2.45x) is at 0.980x with other constants of the device"));
  refusal.set_reason(v1::REFUSAL_REASON_FAILED);
  refusal.set_message("out of memory");
  EXPECT_THAT(KeptBy(refusal), testing::EndsWith("did not run: out of memory"));
  EXPECT_THAT(KeptBy(ExampleReport().refused(1)),
              testing::EndsWith("no other plan ran; conv_winograd was not accurate enough at 2 "
                                "layers (error 4.0e-06 at conv1, limit 1.5e-06)"));
}

TEST(ReportTableTest, ExplainsRulesAndDecisions) {
  const std::string table = ReportTable(ExampleReport(), true);
  EXPECT_THAT(table, testing::HasSubstr("remove_identity x 2    Identity(x) = x"));
  EXPECT_THAT(table, testing::EndsWith("decisions of the search:\nchosen: candidate 1\n"));
}

}  // namespace
}  // namespace plait
