#include "client/report_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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
            "outputs      equivalent: max abs error 1e-06, max rel error 2e-07, 3 inputs\n"
            "runtimes, us     original     returned     ratio\n"
            "  plait             100.1         50.0     2.002 (1.900 to 2.100)\n"
            "  openvino    not measured  no such operator\n"
            "recommended  plait: 50.0 us, threads=2\n"
            "rules        remove_identity x 2\n"
            "search       0.50 s searching, 0.00 s profiling, 0.00 s verifying\n"
            "             7 candidates (0 measured), 0 profiles measured, 0 cached\n"
            "output       out.onnx\n");
}

TEST(ReportTableTest, SaysNothingOfRuntimesWherePlaitIsTheOnlyOne) {
  v1::Report report = ExampleReport();
  report.mutable_runtimes()->RemoveLast();
  EXPECT_THAT(ReportTable(report, false), testing::Not(testing::HasSubstr("recommended")));
}

TEST(ReportTableTest, ExplainsRulesAndDecisions) {
  const std::string table = ReportTable(ExampleReport(), true);
  EXPECT_THAT(table, testing::HasSubstr("remove_identity x 2    Identity(x) = x"));
  EXPECT_THAT(table, testing::EndsWith("decisions of the search:\nchosen: candidate 1\n"));
}

}  // namespace
}  // namespace plait
