#include "client/report_json.h"

#include <map>

namespace plait {
namespace {

// Baseline and optimized are two messages with the same fields.
template <typename Measured>
Json LatencyJson(const Measured& measured) {
  Json json;
  json["latency_us_median"] = measured.latency_us_median();
  json["latency_us_p10"] = measured.latency_us_p10();
  json["latency_us_p95"] = measured.latency_us_p95();
  json["samples"] = measured.samples();
  return json;
}

Json ModelJson(const v1::ModelReport& model) {
  Json json;
  json["digest"] = model.digest().sha256_hex();
  json["nodes"] = model.nodes();
  json["opaque_nodes"] = Json::array();
  for (const std::string& name : model.opaque_nodes()) json["opaque_nodes"].push_back(name);
  return json;
}

Json SearchJson(const v1::SearchReport& search) {
  Json json;
  json["seconds"] = search.seconds();
  json["profiling_seconds"] = search.profiling_seconds();
  json["verification_seconds"] = search.verification_seconds();
  json["candidates"] = search.candidates();
  json["candidates_measured"] = search.candidates_measured();
  json["profiles_measured"] = search.profiles_measured();
  json["profiles_cached"] = search.profiles_cached();
  json["rules_applied"] = Json::object();
  // Sorted, because the order of a protobuf map changes from run to run.
  const std::map<std::string, int64_t> rules(search.rules_applied().begin(),
                                             search.rules_applied().end());
  for (const auto& [rule, count] : rules) json["rules_applied"][rule] = count;
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

// In the documented order, which the JSON keeps.
Json ReportJson(const v1::Report& report) {
  Json json;
  json["id"] = report.id();
  json["cached"] = report.cached();
  json["model"] = ModelJson(report.model());
  json["device"]["id"] = report.device().id();
  json["device"]["name"] = report.device().name();
  json["device"]["fingerprint"] = report.device().fingerprint();
  json["device"]["predicted"] = report.device().predicted();
  json["baseline"] = LatencyJson(report.baseline());
  json["optimized"] = LatencyJson(report.optimized());
  json["optimized"]["kernels"] = report.optimized().kernels();
  json["optimized"]["fallback_nodes"] = report.optimized().fallback_nodes();
  json["optimized"]["offchip_bytes"] = report.optimized().offchip_bytes();
  json["optimized"]["precision"] = report.optimized().precision();
  json["speedup"] = report.speedup();
  json["speedup_low"] = report.speedup_low();
  json["speedup_high"] = report.speedup_high();
  json["equivalence"]["verdict"] = VerdictName(report.equivalence().verdict());
  json["equivalence"]["max_abs_error"] = report.equivalence().max_abs_error();
  json["equivalence"]["max_rel_error"] = report.equivalence().max_rel_error();
  json["equivalence"]["inputs_tried"] = report.equivalence().inputs_tried();
  json["search"] = SearchJson(report.search());
  json["output"]["path"] = report.output().path();
  json["output"]["digest"] = report.output().digest().sha256_hex();
  return json;
}

}  // namespace plait
