#include "client/report_json.h"

#include <gtest/gtest.h>

#include "tests/client/example_report.h"

namespace plait {
namespace {

TEST(ReportJsonTest, WritesTheDocumentedFieldsInOrder) {
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

TEST(ReportJsonTest, KeepsEveryBitOfANumber) {
  v1::Report report = ExampleReport();
  report.set_speedup(1.0 / 3);
  const Json json = Json::parse(JsonText(ReportJson(report)), nullptr, false);
  EXPECT_EQ(json.value("speedup", 0.0), 1.0 / 3);
}

}  // namespace
}  // namespace plait
