#include "proto/wire/report_json.h"

#include <map>
#include <utility>
#include <vector>

namespace plait::wire {
namespace {

// Null for what the plait that made the report did not tell yet; every load takes some time.
Json TextOrNull(const std::string& text) { return text.empty() ? Json() : Json(text); }
Json TimeOrNull(double time_ms) { return time_ms > 0 ? Json(time_ms) : Json(); }

template <typename Texts>
Json ListJson(const Texts& texts) {
  Json json = Json::array();
  for (const std::string& text : texts) json.push_back(text);
  return json;
}

template <typename Measured>
Json FallbacksJson(const Measured& measured) {
  Json json = Json::array();
  for (const v1::FallbackOperator& fallback : measured.fallback_operators()) {
    json.push_back({{"op_type", fallback.op_type()},
                    {"nodes", fallback.nodes()},
                    {"names", ListJson(fallback.names())}});
  }
  return json;
}

// Baseline and optimized are two messages with the same fields.
// Of a device that is only described, nothing was measured.
template <typename Measured>
Json MeasuredJson(const Measured& measured, bool is_predicted) {
  Json json;
  json["latency_us_median"] = NumberOrNull(is_predicted, measured.latency_us_median());
  json["latency_us_p10"] = NumberOrNull(is_predicted, measured.latency_us_p10());
  json["latency_us_p95"] = NumberOrNull(is_predicted, measured.latency_us_p95());
  json["samples"] = is_predicted ? Json() : Json(measured.samples());
  json["kernels"] = measured.kernels();
  json["fallback_nodes"] = measured.fallback_nodes();
  json["fallback_operators"] = FallbacksJson(measured);
  json["offchip_bytes"] = measured.offchip_bytes();
  json["predicted_us"] = measured.predicted_us();
  json["predicted_us_low"] =
      NumberOrNull(!measured.has_predicted_us_low(), measured.predicted_us_low());
  json["predicted_us_high"] =
      NumberOrNull(!measured.has_predicted_us_high(), measured.predicted_us_high());
  json["load_ms"] = TimeOrNull(measured.load_ms());
  return json;
}

Json ModelJson(const v1::ModelReport& model) {
  Json json;
  json["digest"] = model.digest().sha256_hex();
  json["nodes"] = model.nodes();
  json["opaque_nodes"] = ListJson(model.opaque_nodes());
  json["host_segments"] = Json::array();
  for (const v1::HostSegment& segment : model.host_segments()) {
    json["host_segments"].push_back({{"operators", ListJson(segment.operators())},
                                     {"nodes", segment.nodes()},
                                     {"reason", segment.reason()}});
  }
  return json;
}

Json DeviceJson(const v1::DeviceReport& device) {
  Json json;
  json["id"] = device.id();
  json["name"] = device.name();
  json["fingerprint"] = device.fingerprint();
  json["predicted"] = device.predicted();
  return json;
}

Json OptimizedJson(const v1::OptimizedReport& optimized, bool is_predicted) {
  Json json = MeasuredJson(optimized, is_predicted);
  json["precision"] = optimized.precision();
  json["origin"] = TextOrNull(optimized.origin());
  json["schedule"] = TextOrNull(optimized.schedule());
  json["portable"] = optimized.portable();
  json["body"] = TextOrNull(optimized.body());
  json["formats"] = Json::object();
  // Sorted, because the order of a protobuf map changes from run to run.
  const std::map<std::string, double> formats(optimized.formats().begin(),
                                              optimized.formats().end());
  for (const auto& [format, share] : formats) json["formats"][format] = share;
  json["copies"] = optimized.has_copies() ? Json(optimized.copies()) : Json();
  return json;
}

Json EquivalenceJson(const v1::EquivalenceReport& equivalence) {
  Json json;
  json["verdict"] = VerdictName(equivalence.verdict());
  json["max_abs_error"] = equivalence.max_abs_error();
  json["max_rel_error"] = equivalence.max_rel_error();
  json["inputs_tried"] = equivalence.inputs_tried();
  json["exact_ratio"] = NumberOrNull(equivalence.exact_ratio() == 0, equivalence.exact_ratio());
  json["shapes_checked"] = equivalence.shapes_checked();
  json["outputs"] = Json::array();
  for (const v1::OutputError& output : equivalence.outputs()) {
    Json error;
    error["name"] = output.name();
    error["max_abs_error"] = output.max_abs_error();
    error["max_rel_error"] = output.max_rel_error();
    error["rms_error"] = output.rms_error();
    error["max_channel_error"] = output.max_channel_error();
    json["outputs"].push_back(std::move(error));
  }
  return json;
}

Json BytesOrNull(int64_t bytes) { return bytes > 0 ? Json(bytes) : Json(); }

Json PlanTimesJson(const v1::SearchReport& search) {
  Json json = Json::array();
  for (const v1::PlanTimes& times : search.plan_times()) {
    Json entry;
    entry["predicted_us"] = times.predicted_us();
    entry["latency_us_median"] = times.latency_us_median();
    entry["speedup_predicted"] = times.speedup_predicted();
    entry["speedup"] = times.speedup();
    entry["won"] = times.won();
    json.push_back(std::move(entry));
  }
  return json;
}

Json SearchJson(const v1::SearchReport& search, bool with_trace) {
  Json json;
  json["seconds"] = search.seconds();
  json["profiling_seconds"] = search.profiling_seconds();
  json["verification_seconds"] = search.verification_seconds();
  json["candidates"] = search.candidates();
  json["candidates_measured"] = search.candidates_measured();
  json["profiles_measured"] = search.profiles_measured();
  json["profiles_cached"] = search.profiles_cached();
  json["profiles_unsteady"] = search.profiles_unsteady();
  json["rules_applied"] = Json::object();
  // Sorted, because the order of a protobuf map changes from run to run.
  const std::map<std::string, int64_t> rules(search.rules_applied().begin(),
                                             search.rules_applied().end());
  for (const auto& [rule, count] : rules) json["rules_applied"][rule] = count;
  json["regions"] = search.regions();
  json["regions_solved"] = search.regions_solved();
  json["budget_exhausted"] = search.budget_exhausted();
  json["plan_times"] = PlanTimesJson(search);
  json["peak_memory_bytes"] = BytesOrNull(search.peak_memory_bytes());
  json["worker_peak_memory_bytes"] = BytesOrNull(search.worker_peak_memory_bytes());
  if (with_trace) json["trace"] = search.trace();
  return json;
}

Json PlanJson(const v1::Report& report) {
  Json json;
  json["digest"] = report.plan_digest().sha256_hex();
  json["streams"] = report.plan().streams();
  json["arena_bytes"] = report.plan().arena_bytes();
  return json;
}

template <typename Shapes>
Json ShapesJson(const Shapes& shapes) {
  Json json = Json::object();
  for (const v1::PlanShape& shape : shapes) {
    json[shape.input()] = Json(std::vector<int64_t>(shape.dims().begin(), shape.dims().end()));
  }
  return json;
}

// An older plait said what was predicted where others have what was measured.
Json PredictedUs(const v1::PlanReport& plan) {
  if (plan.has_predicted_us()) return plan.predicted_us();
  return NumberOrNull(!plan.predicted(), plan.latency_us_median());
}

Json PlansJson(const v1::Report& report) {
  Json json = Json::array();
  for (const v1::PlanReport& plan : report.plans()) {
    Json entry;
    entry["device"] = plan.device();
    entry["threads"] = plan.threads();
    entry["shapes"] = ShapesJson(plan.shapes());
    entry["latency_us_median"] = NumberOrNull(plan.predicted(), plan.latency_us_median());
    entry["predicted_us"] = PredictedUs(plan);
    entry["speedup"] = NumberOrNull(plan.predicted(), plan.speedup());
    entry["speedup_low"] = NumberOrNull(plan.predicted(), plan.speedup_low());
    entry["speedup_high"] = NumberOrNull(plan.predicted(), plan.speedup_high());
    entry["predicted"] = plan.predicted();
    json.push_back(std::move(entry));
  }
  return json;
}

Json KeptPlansJson(const v1::Report& report) {
  Json json = Json::array();
  for (const v1::KeptPlanReport& plan : report.kept_plans()) {
    Json entry;
    entry["device_fingerprint"] = plan.device_fingerprint();
    entry["threads"] = plan.threads();
    entry["shapes"] = ShapesJson(plan.shapes());
    entry["predicted"] = plan.predicted();
    json.push_back(std::move(entry));
  }
  return json;
}

Json DefaultPlanJson(const v1::Report& report) {
  if (!report.has_default_plan()) return Json();
  Json json;
  json["latency_us_median"] = report.default_plan().latency_us_median();
  json["ratio"] = report.default_plan().ratio();
  return json;
}

Json RuntimeJson(const v1::RuntimeReport& line) {
  Json json;
  json["runtime"] = line.runtime();
  json["version"] = line.version();
  json["options"] = line.options();
  json["threads"] = line.threads();
  json["original_us_median"] = TimeOrNull(line.original_us_median());
  json["original_us_p10"] = TimeOrNull(line.original_us_p10());
  json["original_us_p95"] = TimeOrNull(line.original_us_p95());
  json["latency_us_median"] = TimeOrNull(line.latency_us_median());
  json["latency_us_p10"] = TimeOrNull(line.latency_us_p10());
  json["latency_us_p95"] = TimeOrNull(line.latency_us_p95());
  json["ratio"] = line.ratio();
  json["ratio_low"] = line.ratio_low();
  json["ratio_high"] = line.ratio_high();
  json["note"] = line.note();
  return json;
}

Json RefusalJson(const v1::Refusal& refusal) {
  // Each has only what its reason is about.
  const bool has_error = refusal.limit() > 0;
  const bool is_plan = refusal.kernel().empty();
  const bool has_times = refusal.latency_us_median() > 0;
  Json json;
  json["reason"] = RefusalReasonName(refusal.reason());
  json["kernel"] = TextOrNull(refusal.kernel());
  json["layers"] = is_plan ? Json() : Json(refusal.layers());
  json["error"] = NumberOrNull(!has_error, refusal.error());
  json["limit"] = NumberOrNull(!has_error, refusal.limit());
  json["place"] = refusal.place();
  json["predicted_us"] = NumberOrNull(!is_plan, refusal.predicted_us());
  json["speedup_predicted"] = NumberOrNull(!is_plan, refusal.speedup_predicted());
  json["latency_us_median"] = TimeOrNull(refusal.latency_us_median());
  json["speedup"] = NumberOrNull(!has_times, refusal.speedup());
  json["speedup_certain"] = NumberOrNull(!has_times, refusal.speedup_certain());
  json["message"] = refusal.message();
  return json;
}

Json RecommendedJson(const v1::Report& report) {
  if (!report.has_recommended()) return Json();
  const v1::Recommendation& recommended = report.recommended();
  Json json;
  json["runtime"] = recommended.runtime();
  json["threads"] = recommended.threads();
  json["options"] = recommended.options();
  json["latency_us"] = recommended.latency_us();
  return json;
}

}  // namespace

std::string VerdictName(v1::Verdict verdict) {
  switch (verdict) {
    case v1::VERDICT_EQUIVALENT:
      return "equivalent";
    case v1::VERDICT_DIFFERENT:
      return "different";
    // A verdict that this program does not know proves nothing.
    default:
      return "inconclusive";
  }
}

std::string RefusalReasonName(v1::RefusalReason reason) {
  switch (reason) {
    case v1::REFUSAL_REASON_DIFFERENT:
      return "different";
    case v1::REFUSAL_REASON_INCONCLUSIVE:
      return "inconclusive";
    case v1::REFUSAL_REASON_FAILED:
      return "failed";
    case v1::REFUSAL_REASON_NOT_CHOSEN:
      return "not_chosen";
    case v1::REFUSAL_REASON_NOT_FASTER:
      return "not_faster";
    case v1::REFUSAL_REASON_INACCURATE:
      return "inaccurate";
    default:
      return "unspecified";
  }
}

// In the documented order, which the JSON keeps.
Json ReportJson(const v1::Report& report, bool with_trace) {
  Json json;
  json["id"] = report.id();
  json["cached"] = report.cached();
  json["model"] = ModelJson(report.model());
  json["device"] = DeviceJson(report.device());
  json["schema_version"] = kReportSchemaVersion;
  json["engine_version"] = report.engine_version();
  json["warnings"] = ListJson(report.warnings());
  const bool is_predicted = report.device().predicted();
  json["baseline"] = MeasuredJson(report.baseline(), is_predicted);
  json["optimized"] = OptimizedJson(report.optimized(), is_predicted);
  json["speedup"] = report.speedup();
  json["speedup_low"] = report.speedup_low();
  json["speedup_high"] = report.speedup_high();
  json["equivalence"] = EquivalenceJson(report.equivalence());
  json["search"] = SearchJson(report.search(), with_trace);
  json["plan"] = PlanJson(report);
  json["plans"] = PlansJson(report);
  json["kept_plans"] = KeptPlansJson(report);
  json["default_plan"] = DefaultPlanJson(report);
  json["runtimes"] = Json::array();
  for (const v1::RuntimeReport& line : report.runtimes()) {
    json["runtimes"].push_back(RuntimeJson(line));
  }
  json["recommended"] = RecommendedJson(report);
  json["refused"] = Json::array();
  for (const v1::Refusal& refusal : report.refused()) {
    json["refused"].push_back(RefusalJson(refusal));
  }
  json["measurement_log"] = report.measurement_log().sha256_hex();
  json["output"]["path"] = report.output().path();
  json["output"]["digest"] = report.output().digest().sha256_hex();
  return json;
}

}  // namespace plait::wire
