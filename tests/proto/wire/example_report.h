#pragma once

#include "plait/v1/report.pb.h"

namespace plait {

// A report with a value in every field that people read, of a model that became twice as fast.
inline v1::Report ExampleReport() {
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
  report.mutable_baseline()->set_predicted_us(98);
  report.mutable_baseline()->set_load_ms(4.5);
  report.mutable_optimized()->set_latency_us_median(50);
  report.mutable_optimized()->set_latency_us_p10(49);
  report.mutable_optimized()->set_latency_us_p95(55);
  report.mutable_optimized()->set_samples(40);
  report.mutable_optimized()->set_kernels(6);
  report.mutable_optimized()->set_offchip_bytes(1024);
  report.mutable_optimized()->set_precision("strict");
  report.mutable_optimized()->set_origin("searched");
  report.mutable_optimized()->set_schedule("plait");
  report.mutable_optimized()->set_portable(true);
  report.mutable_optimized()->set_body("original");
  report.mutable_optimized()->set_load_ms(6);
  (*report.mutable_optimized()->mutable_formats())["plain"] = 0.25;
  (*report.mutable_optimized()->mutable_formats())["channels_last"] = 0.75;
  report.mutable_optimized()->set_copies(1);
  report.set_speedup(2.002);
  report.set_speedup_low(1.9);
  report.set_speedup_high(2.1);
  report.mutable_equivalence()->set_verdict(v1::VERDICT_EQUIVALENT);
  report.mutable_equivalence()->set_max_abs_error(1e-6);
  report.mutable_equivalence()->set_max_rel_error(2e-7);
  report.mutable_equivalence()->set_inputs_tried(3);
  v1::OutputError& output = *report.mutable_equivalence()->add_outputs();
  output.set_name("y");
  output.set_max_abs_error(1e-6);
  output.set_max_rel_error(2e-7);
  output.set_rms_error(3e-7);
  report.mutable_search()->set_seconds(0.5);
  report.mutable_search()->set_candidates(7);
  (*report.mutable_search()->mutable_rules_applied())["remove_identity"] = 2;
  report.mutable_search()->set_regions(3);
  report.mutable_search()->set_regions_solved(2);
  report.mutable_search()->set_trace("chosen: candidate 1\n");
  report.mutable_plan_digest()->set_sha256_hex("ef");
  report.mutable_plan()->set_streams(2);
  report.mutable_plan()->set_arena_bytes(4096);
  v1::PlanReport& plan = *report.add_plans();
  plan.set_device("cpu");
  plan.set_threads(2);
  v1::PlanShape& shape = *plan.add_shapes();
  shape.set_input("x");
  shape.add_dims(1);
  shape.add_dims(8);
  plan.set_latency_us_median(50);
  plan.set_speedup(2.002);
  plan.set_speedup_low(1.9);
  plan.set_speedup_high(2.1);
  v1::PlanReport& predicted = *report.add_plans();
  predicted.set_device("cpu");
  predicted.set_threads(4);
  predicted.set_latency_us_median(30);
  predicted.set_predicted(true);
  report.mutable_default_plan()->set_latency_us_median(60);
  report.mutable_default_plan()->set_ratio(1.2);
  report.mutable_measurement_log()->set_sha256_hex("01");
  report.set_engine_version("plait-1");
  report.add_warnings("look");
  report.mutable_output()->set_path("out.onnx");
  report.mutable_output()->mutable_digest()->set_sha256_hex("cd");
  v1::RuntimeReport& plait = *report.add_runtimes();
  plait.set_runtime("plait");
  plait.set_version("plait-1");
  plait.set_options("threads=2");
  plait.set_threads(2);
  plait.set_original_us_median(100.1);
  plait.set_latency_us_median(50);
  plait.set_ratio(2.002);
  plait.set_ratio_low(1.9);
  plait.set_ratio_high(2.1);
  v1::RuntimeReport& other = *report.add_runtimes();
  other.set_runtime("openvino");
  other.set_ratio(1);
  other.set_ratio_low(1);
  other.set_ratio_high(1);
  other.set_note("no such operator");
  report.mutable_recommended()->set_runtime("plait");
  report.mutable_recommended()->set_threads(2);
  report.mutable_recommended()->set_options("threads=2");
  report.mutable_recommended()->set_latency_us(50);
  return report;
}

}  // namespace plait
