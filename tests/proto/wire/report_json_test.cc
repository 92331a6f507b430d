#include "proto/wire/report_json.h"

#include <gtest/gtest.h>

#include "tests/proto/wire/example_report.h"

namespace plait::wire {
namespace {

TEST(ReportJsonTest, WritesTheDocumentedFieldsInOrder) {
  EXPECT_EQ(
      JsonLine(ReportJson(ExampleReport(), false)),
      R"({"id":"job-1","cached":false,"model":{"digest":"ab","nodes":12,"opaque_nodes":[],)"
      R"("host_segments":[]},)"
      R"("device":{"id":"cpu","name":"Processor","fingerprint":"cpu-1","predicted":false},)"
      R"("schema_version":1,"engine_version":"plait-1","warnings":["look"],)"
      R"("baseline":{"latency_us_median":100.1,"latency_us_p10":99.0,"latency_us_p95":110.0,)"
      R"("samples":40,"kernels":12,"fallback_nodes":0,"fallback_operators":[],)"
      R"("offchip_bytes":0,"predicted_us":98.0,"predicted_us_low":null,)"
      R"("predicted_us_high":null,"load_ms":4.5},)"
      R"("optimized":{"latency_us_median":50.0,"latency_us_p10":49.0,"latency_us_p95":55.0,)"
      R"("samples":40,"kernels":6,"fallback_nodes":0,"fallback_operators":[],)"
      R"("offchip_bytes":1024,"predicted_us":0.0,)"
      R"("predicted_us_low":null,"predicted_us_high":null,)"
      R"("load_ms":6.0,"precision":"strict","origin":"searched","schedule":"plait",)"
      R"("portable":true,"body":"original",)"
      R"("formats":{"channels_last":0.75,"plain":0.25},"copies":1},)"
      R"("speedup":2.002,"speedup_low":1.9,"speedup_high":2.1,)"
      R"("equivalence":{"verdict":"equivalent","max_abs_error":1e-06,"max_rel_error":2e-07,)"
      R"("inputs_tried":3,"exact_ratio":null,"shapes_checked":2,)"
      R"("outputs":[{"name":"y","max_abs_error":1e-06,"max_rel_error":2e-07,)"
      R"("rms_error":3e-07,"max_channel_error":4e-07}]},)"
      R"("search":{"seconds":0.5,"profiling_seconds":0.0,)"
      R"("verification_seconds":0.0,"candidates":7,"candidates_measured":0,"profiles_measured":0,)"
      R"("profiles_cached":0,"profiles_unsteady":0,"rules_applied":{"remove_identity":2},)"
      R"("regions":3,)"
      R"("regions_solved":2,"budget_exhausted":false,)"
      R"("plan_times":[{"predicted_us":48.0,"latency_us_median":50.0,"speedup_predicted":2.04,)"
      R"("speedup":2.002,"won":true}],)"
      R"("peak_memory_bytes":1048576,"worker_peak_memory_bytes":null},)"
      R"("plan":{"digest":"ef","streams":2,"arena_bytes":4096},)"
      R"("plans":[{"device":"cpu","threads":2,"shapes":{"x":[1,8]},"latency_us_median":50.0,)"
      R"("predicted_us":48.0,)"
      R"("speedup":2.002,"speedup_low":1.9,"speedup_high":2.1,"predicted":false},)"
      R"({"device":"cpu","threads":4,"shapes":{},"latency_us_median":null,"predicted_us":30.0,)"
      R"("speedup":null,"speedup_low":null,"speedup_high":null,"predicted":true}],)"
      R"("kept_plans":[{"device_fingerprint":"cpu-2","threads":8,"shapes":{"x":[1,8]},)"
      R"("predicted":false}],)"
      R"("default_plan":{"latency_us_median":60.0,"ratio":1.2},)"
      R"("runtimes":[{"runtime":"plait","version":"plait-1","options":"threads=2","threads":2,)"
      R"("original_us_median":100.1,"original_us_p10":null,"original_us_p95":null,)"
      R"("latency_us_median":50.0,"latency_us_p10":null,"latency_us_p95":null,)"
      R"("ratio":2.002,"ratio_low":1.9,"ratio_high":2.1,"note":""},)"
      R"({"runtime":"openvino","version":"","options":"","threads":0,)"
      R"("original_us_median":null,"original_us_p10":null,"original_us_p95":null,)"
      R"("latency_us_median":null,"latency_us_p10":null,"latency_us_p95":null,)"
      R"("ratio":1.0,"ratio_low":1.0,"ratio_high":1.0,"note":"no such operator"}],)"
      R"("recommended":{"runtime":"plait","threads":2,"options":"threads=2","latency_us":50.0},)"
      R"("refused":[{"reason":"different","kernel":null,"layers":null,"error":0.00032,)"
      R"("limit":0.0001,"place":"boxes","predicted_us":40.0,"speedup_predicted":2.45,)"
      R"("latency_us_median":45.0,"speedup":2.25,"speedup_certain":2.0,"message":""},)"
      R"({"reason":"inaccurate","kernel":"conv_winograd","layers":2,"error":4e-06,)"
      R"("limit":1.5e-06,"place":"conv1","predicted_us":null,"speedup_predicted":null,)"
      R"("latency_us_median":null,"speedup":null,"speedup_certain":null,"message":""}],)"
      R"("measurement_log":"01",)"
      R"("output":{"path":"out.onnx","digest":"cd"}})"
      "\n");
}

TEST(ReportJsonTest, TellsWhatTheSearchDecidedWhenItIsAsked) {
  const v1::Report report = ExampleReport();
  EXPECT_FALSE(ReportJson(report, false)["search"].contains("trace"));
  EXPECT_EQ(ReportJson(report, true)["search"]["trace"], "chosen: candidate 1\n");
}

TEST(ReportJsonTest, SaysNothingOfWhatAnOlderReportDidNotTell) {
  v1::Report report = ExampleReport();
  report.mutable_optimized()->clear_origin();
  report.mutable_optimized()->clear_schedule();
  report.mutable_optimized()->clear_copies();
  report.mutable_baseline()->clear_load_ms();
  const Json json = ReportJson(report, false);
  EXPECT_TRUE(json["optimized"]["origin"].is_null());
  EXPECT_TRUE(json["optimized"]["schedule"].is_null());
  EXPECT_TRUE(json["optimized"]["copies"].is_null());
  EXPECT_TRUE(json["baseline"]["load_ms"].is_null());
}

TEST(ReportJsonTest, ListsNodesThatRunAsReferenceCode) {
  v1::Report report = ExampleReport();
  report.mutable_baseline()->set_fallback_nodes(2);
  v1::FallbackOperator& fallback = *report.mutable_baseline()->add_fallback_operators();
  fallback.set_op_type("TopK");
  fallback.set_nodes(2);
  fallback.add_names("best");
  fallback.add_names("TopK of 'y'");
  EXPECT_EQ(JsonLine(ReportJson(report, false)["baseline"]["fallback_operators"]),
            "[{\"op_type\":\"TopK\",\"nodes\":2,\"names\":[\"best\",\"TopK of 'y'\"]}]\n");
}

TEST(ReportJsonTest, NoPredictionIsALatencyInAnOlderReportEither) {
  v1::Report report = ExampleReport();
  report.mutable_plans(0)->clear_predicted_us();
  report.mutable_plans(1)->clear_predicted_us();
  report.mutable_plans(1)->set_latency_us_median(30);
  const Json json = ReportJson(report, false);
  EXPECT_EQ(json["plans"][0]["latency_us_median"], 50);
  EXPECT_TRUE(json["plans"][0]["predicted_us"].is_null());
  EXPECT_TRUE(json["plans"][1]["latency_us_median"].is_null());
  EXPECT_EQ(json["plans"][1]["predicted_us"], 30);
}

TEST(ReportJsonTest, TellsWherePredictionsLie) {
  v1::Report report = ExampleReport();
  report.mutable_optimized()->set_predicted_us_low(40);
  report.mutable_optimized()->set_predicted_us_high(60);
  const Json json = ReportJson(report, false);
  EXPECT_EQ(json["optimized"]["predicted_us_low"], 40);
  EXPECT_EQ(json["optimized"]["predicted_us_high"], 60);
}

TEST(ReportJsonTest, KeepsEveryBitOfANumber) {
  v1::Report report = ExampleReport();
  report.set_speedup(1.0 / 3);
  const Json json = Json::parse(JsonText(ReportJson(report, false)), nullptr, false);
  EXPECT_EQ(json.value("speedup", 0.0), 1.0 / 3);
}

}  // namespace
}  // namespace plait::wire
