#include <gtest/gtest.h>

#include "client/report_json.h"
#include "client/report_table.h"

namespace plait {
namespace {

v1::Report ExampleReport() {
  v1::Report report;
  report.set_id("job-1");
  report.mutable_model()->mutable_digest()->set_sha256_hex("ab");
  report.mutable_model()->set_nodes(12);
  report.mutable_device()->set_id("cpu");
  report.mutable_device()->set_name("Processor");
  report.mutable_device()->set_fingerprint("cpu-1");
  report.mutable_baseline()->set_latency_us_median(100.1);
  report.mutable_baseline()->set_latency_us_p10(99);
  report.mutable_baseline()->set_latency_us_p95(110);
  report.mutable_baseline()->set_samples(40);
  report.mutable_baseline()->set_kernels(12);
  report.mutable_optimized()->set_latency_us_median(50);
  report.mutable_optimized()->set_latency_us_p10(49);
  report.mutable_optimized()->set_latency_us_p95(55);
  report.mutable_optimized()->set_samples(40);
  report.mutable_optimized()->set_kernels(6);
  report.mutable_optimized()->set_offchip_bytes(1024);
  report.mutable_optimized()->set_precision("strict");
  report.set_speedup(2.002);
  report.set_speedup_low(1.9);
  report.set_speedup_high(2.1);
  report.mutable_equivalence()->set_verdict(v1::VERDICT_EQUIVALENT);
  report.mutable_equivalence()->set_max_abs_error(1e-6);
  report.mutable_equivalence()->set_max_rel_error(2e-7);
  report.mutable_equivalence()->set_inputs_tried(3);
  report.mutable_search()->set_seconds(0.5);
  report.mutable_search()->set_candidates(7);
  (*report.mutable_search()->mutable_rules_applied())["remove_identity"] = 2;
  report.mutable_output()->set_path("out.onnx");
  report.mutable_output()->mutable_digest()->set_sha256_hex("cd");
  return report;
}

TEST(ReportTest, WritesTheDocumentedFieldsInOrder) {
  EXPECT_EQ(
      JsonLine(ReportJson(ExampleReport())),
      R"({"id":"job-1","cached":false,"model":{"digest":"ab","nodes":12,"opaque_nodes":[]},)"
      R"("device":{"id":"cpu","name":"Processor","fingerprint":"cpu-1","predicted":false},)"
      R"("baseline":{"latency_us_median":100.1,"latency_us_p10":99.0,"latency_us_p95":110.0,)"
      R"("samples":40},"optimized":{"latency_us_median":50.0,"latency_us_p10":49.0,)"
      R"("latency_us_p95":55.0,"samples":40,"kernels":6,"fallback_nodes":0,"offchip_bytes":1024,)"
      R"("precision":"strict"},"speedup":2.002,"speedup_low":1.9,"speedup_high":2.1,)"
      R"("equivalence":{"verdict":"equivalent","max_abs_error":1e-06,"max_rel_error":2e-07,)"
      R"("inputs_tried":3},"search":{"seconds":0.5,"profiling_seconds":0.0,)"
      R"("verification_seconds":0.0,"candidates":7,"candidates_measured":0,"profiles_measured":0,)"
      R"("profiles_cached":0,"rules_applied":{"remove_identity":2}},)"
      R"("output":{"path":"out.onnx","digest":"cd"}})"
      "\n");
}

TEST(ReportTest, PrintsATableForPeople) {
  EXPECT_EQ(ReportTable(ExampleReport(), false),
            "model        12 nodes on cpu (Processor)\n"
            "latency, us        median          p10          p95   kernels\n"
            "  baseline          100.1         99.0        110.0        12\n"
            "  optimized          50.0         49.0         55.0         6\n"
            "speedup      2.002 (95 % interval 1.900 to 2.100)\n"
            "outputs      equivalent: max abs error 1e-06, max rel error 2e-07, 3 inputs\n"
            "rules        remove_identity x 2\n"
            "search       0.50 s searching, 0.00 s profiling, 0.00 s verifying\n"
            "             7 candidates (0 measured), 0 profiles measured, 0 cached\n"
            "output       out.onnx\n");
}

TEST(ReportTest, KeepsEveryBitOfANumber) {
  v1::Report report = ExampleReport();
  report.set_speedup(1.0 / 3);
  const Json json = Json::parse(JsonText(ReportJson(report)), nullptr, false);
  EXPECT_EQ(json.value("speedup", 0.0), 1.0 / 3);
}

}  // namespace
}  // namespace plait
