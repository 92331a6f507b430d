#include "client/ablation.h"

#include <cstdint>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace plait {
namespace {

int64_t RewritesOf(const v1::SearchReport& search) {
  int64_t count = 0;
  for (const auto& [rule, times] : search.rules_applied()) count += times;
  return count;
}

// Microseconds as milliseconds.
double Milliseconds(double us) { return us / 1000; }

}  // namespace

absl::string_view SystemOf(absl::string_view search, absl::string_view schedule) {
  struct System {
    absl::string_view name, search, schedule;
  };
  static constexpr System kSystems[] = {
      {"JIT", "normal_form", "sequential"}, {"TASO+JIT", "taso", "sequential"},
      {"IOS", "normal_form", "ios"},        {"Nimble", "normal_form", "nimble"},
      {"Opara", "normal_form", "opara"},    {"TASO+Nimble", "taso", "nimble"},
      {"plait", "plait", "plait"},
  };
  for (const System& system : kSystems) {
    if (system.search == search && system.schedule == schedule) return system.name;
  }
  return "";
}

Json AblationJson(absl::string_view model, absl::Span<const AblationRow> rows) {
  Json json;
  json["schema_version"] = 1;
  json["model"] = model;
  json["rows"] = Json::array();
  for (const AblationRow& row : rows) {
    const v1::SearchReport& search = row.report.search();
    const absl::string_view system = SystemOf(row.search, row.schedule);
    Json entry;
    entry["search"] = row.search;
    entry["schedule"] = row.schedule;
    entry["system"] = system.empty() ? Json() : Json(system);
    entry["origin"] = row.report.optimized().origin();
    entry["speedup"] = row.report.speedup();
    // Nothing is measured of a device that is only described.
    const bool is_predicted = row.report.device().predicted();
    const auto measured = [&](double number) { return wire::NumberOrNull(is_predicted, number); };
    entry["speedup_low"] = measured(row.report.speedup_low());
    entry["speedup_high"] = measured(row.report.speedup_high());
    entry["latency_us_median"] = measured(row.report.optimized().latency_us_median());
    entry["predicted_us"] = row.report.optimized().predicted_us();
    entry["search_seconds"] = search.seconds();
    entry["profiling_seconds"] = search.profiling_seconds();
    entry["verification_seconds"] = search.verification_seconds();
    entry["candidates"] = search.candidates();
    entry["rules_applied"] = RewritesOf(search);
    json["rows"].push_back(std::move(entry));
  }
  return json;
}

std::string AblationTable(absl::Span<const AblationRow> rows) {
  std::string text =
      absl::StrFormat("%-11s %-11s %-12s %-22s %9s %12s %9s %10s %8s\n", "search", "schedule", "as",
                      "speedup", "ms", "predicted ms", "search s", "candidates", "rewrites");
  for (const AblationRow& row : rows) {
    const v1::Report& report = row.report;
    const bool is_kept = report.optimized().origin() == "baseline";
    std::string speedup = absl::StrFormat("%.3f [%.3f, %.3f]", report.speedup(),
                                          report.speedup_low(), report.speedup_high());
    if (report.device().predicted()) speedup = absl::StrFormat("%.3f, predicted", report.speedup());
    if (is_kept) speedup = "1, the original";
    const std::string measured_ms =
        report.device().predicted()
            ? "-"
            : absl::StrFormat("%.3f", Milliseconds(report.optimized().latency_us_median()));
    absl::StrAppendFormat(&text, "%-11s %-11s %-12s %-22s %9s %12.3f %9.2f %10d %8d\n", row.search,
                          row.schedule, SystemOf(row.search, row.schedule), speedup, measured_ms,
                          Milliseconds(report.optimized().predicted_us()),
                          report.search().seconds(), report.search().candidates(),
                          RewritesOf(report.search()));
  }
  return text;
}

}  // namespace plait
