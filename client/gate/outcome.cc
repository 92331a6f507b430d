#include "client/gate/outcome.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/statistics.h"
#include "proto/wire/error.h"

namespace plait {
namespace {

using wire::Json;

double PerCent(double ratio) { return 100 * (ratio - 1); }

// "+0.4 %", or "unknown" for a bound of which nothing is known.
std::string ChangeText(double ratio) {
  if (!(ratio > 0) || !std::isfinite(ratio)) return "unknown";
  return absl::StrFormat("%+.2f %%", PerCent(ratio));
}

Json ModelJson(const GatedModel& model, const std::vector<double>& latency_us) {
  Json json;
  json["path"] = model.path;
  json["latency_us_median"] = Median(latency_us);
  json["latency_us_p10"] = Quantile(latency_us, 0.1);
  json["latency_us_p95"] = Quantile(latency_us, 0.95);
  json["samples"] = latency_us.size();
  json["embedded_plan"] = model.embedded_plan;
  json["plan"] = model.plan;
  return json;
}

// Control characters but for line feeds and tabs are no part of XML 1.0, escaped or not, nor are
// bytes that are no UTF-8, as a path may have. In an attribute there are no lines.
std::string XmlText(absl::string_view text, bool has_lines = false) {
  std::string escaped;
  for (const char c : wire::ValidUtf8(text, text.size())) {
    if (c == '&') {
      escaped += "&amp;";
    } else if (c == '<') {
      escaped += "&lt;";
    } else if (c == '>') {
      escaped += "&gt;";
    } else if (c == '"') {
      escaped += "&quot;";
    } else {
      const bool is_kept =
          static_cast<unsigned char>(c) >= ' ' || (has_lines && (c == '\n' || c == '\t'));
      escaped += is_kept ? c : ' ';
    }
  }
  return escaped;
}

// Text within a cell of a table.
std::string MarkdownText(absl::string_view text) {
  std::string escaped;
  for (const char c : text) {
    if (absl::string_view("\\`*_{}[]<>()#+!|").find(c) != absl::string_view::npos) escaped += '\\';
    escaped += static_cast<unsigned char>(c) < ' ' ? ' ' : c;
  }
  return escaped;
}

std::string MarkdownRow(absl::string_view name, const std::string& path,
                        const std::vector<double>& us) {
  return absl::StrFormat("| %s | %s | %.1f | %.1f | %.1f |\n", name, MarkdownText(path), Median(us),
                         Quantile(us, 0.1), Quantile(us, 0.95));
}

// A sentence for each model; none of what runs by no plan of plait's.
std::vector<std::string> PlanSentences(const GateReport& report) {
  std::vector<std::string> sentences;
  for (const auto& [name, model] :
       {std::pair<absl::string_view, const GatedModel&>("base", report.base),
        {"new", report.changed}}) {
    if (model.plan.is_null()) continue;
    sentences.push_back(absl::StrFormat("plan of %s, %s: %s", name, model.plan.value("grade", ""),
                                        model.plan.value("explanation", "")));
  }
  return sentences;
}

struct JunitCounts {
  int failures = 0;
  int errors = 0;
  int skipped = 0;
};

// One test case, with these elements in it.
std::string JunitOf(const std::string& base_path, const std::string& new_path, double seconds,
                    const JunitCounts& counts, absl::string_view elements) {
  const std::string totals =
      absl::StrFormat("tests=\"1\" failures=\"%d\" errors=\"%d\" skipped=\"%d\" time=\"%.3f\"",
                      counts.failures, counts.errors, counts.skipped, seconds);
  return absl::StrFormat(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
      "<testsuites name=\"plait gate\" %s>\n"
      "  <testsuite name=\"plait gate\" %s>\n"
      "    <testcase classname=\"plait.gate\" name=\"%s against %s\" time=\"%.3f\">\n"
      "%s"
      "    </testcase>\n"
      "  </testsuite>\n"
      "</testsuites>\n",
      totals, totals, XmlText(new_path), XmlText(base_path), seconds, elements);
}

}  // namespace

absl::string_view GateVerdictName(GateVerdict verdict) {
  switch (verdict) {
    case GateVerdict::kPass:
      return "pass";
    case GateVerdict::kFail:
      return "fail";
    default:
      return "inconclusive";
  }
}

std::string GateSentence(const GateReport& report) {
  const GateOutcome& outcome = report.outcome;
  const std::string found = absl::StrFormat(
      "the new model's time differs by %s (between %s and %s, allowed %+.2f %%) over %d loads",
      ChangeText(outcome.ratio), ChangeText(outcome.ratio_low), ChangeText(outcome.ratio_high),
      100 * report.options.max_regression, outcome.loads);
  switch (outcome.verdict) {
    case GateVerdict::kPass:
      return absl::StrCat("pass: ", found);
    case GateVerdict::kFail:
      return absl::StrCat("fail: ", found);
    default:
      return absl::StrFormat("inconclusive: %s, and %.0f s were not enough to tell", found,
                             outcome.seconds);
  }
}

wire::Json GateJson(const GateReport& report) {
  const GateOutcome& outcome = report.outcome;
  Json json;
  json["schema_version"] = 1;
  json["verdict"] = std::string(GateVerdictName(outcome.verdict));
  json["max_regression"] = report.options.max_regression;
  json["error_max"] = report.options.error_max;
  json["ratio"]["median"] = outcome.ratio;
  json["ratio"]["low"] = nullptr;
  if (outcome.ratio_low > 0) json["ratio"]["low"] = outcome.ratio_low;
  // An infinite one is printed as null.
  json["ratio"]["high"] = outcome.ratio_high;
  json["loads"] = outcome.loads;
  json["seconds"] = outcome.seconds;
  json["runtime"] = report.runtime;
  json["runtime_settings"] = nullptr;
  if (!report.runtime_settings.empty()) json["runtime_settings"] = report.runtime_settings;
  json["device"]["id"] = report.device.id;
  json["device"]["name"] = report.device.name;
  json["device"]["fingerprint"] = report.device.fingerprint;
  json["base"] = ModelJson(report.base, outcome.base_us);
  json["new"] = ModelJson(report.changed, outcome.new_us);
  return json;
}

std::string GateTable(const GateReport& report) {
  std::string text = absl::StrCat(GateSentence(report), "\n");
  if (!report.runtime_settings.empty()) {
    absl::StrAppend(&text, "in ", report.device.name, ", ", report.runtime_settings, "\n");
  }
  absl::StrAppendFormat(&text, "%-40s %12s %12s %12s\n", "latency, us", "median", "p10", "p95");
  const auto add = [&](const std::string& path, const std::vector<double>& us) {
    absl::StrAppendFormat(&text, "%-40s %12.1f %12.1f %12.1f\n", path, Median(us),
                          Quantile(us, 0.1), Quantile(us, 0.95));
  };
  add(report.base.path, report.outcome.base_us);
  add(report.changed.path, report.outcome.new_us);
  for (const std::string& sentence : PlanSentences(report)) absl::StrAppend(&text, sentence, "\n");
  return text;
}

std::string GateJunit(const GateReport& report) {
  const GateOutcome& outcome = report.outcome;
  const std::string sentence = XmlText(GateSentence(report));
  std::string result;
  if (outcome.verdict == GateVerdict::kFail) {
    result = absl::StrCat("      <failure type=\"regression\" message=\"", sentence, "\"/>\n");
  } else if (outcome.verdict == GateVerdict::kInconclusive) {
    result = absl::StrCat("      <skipped message=\"", sentence, "\"/>\n");
  }
  absl::StrAppend(&result, "      <system-out>", XmlText(GateTable(report), /*has_lines=*/true),
                  "</system-out>\n");
  return JunitOf(report.base.path, report.changed.path, outcome.seconds,
                 {.failures = outcome.verdict == GateVerdict::kFail,
                  .skipped = outcome.verdict == GateVerdict::kInconclusive},
                 result);
}

std::string GateErrorJunit(const std::string& base_path, const std::string& new_path,
                           absl::string_view message) {
  return JunitOf(base_path, new_path, 0, {.errors = 1},
                 absl::StrCat("      <error message=\"", XmlText(message), "\"/>\n"));
}

std::string GateMarkdown(const GateReport& report) {
  const GateOutcome& outcome = report.outcome;
  std::string text = absl::StrFormat(
      "### plait gate: %s\n\n%s\n\n"
      "| | model | median, us | p10, us | p95, us |\n|---|---|---:|---:|---:|\n%s%s\n"
      "%s %s, in %.0f s; each verdict is wrong in %.0f of 100 cases at most.\n\n",
      GateVerdictName(outcome.verdict), MarkdownText(GateSentence(report)),
      MarkdownRow("base", report.base.path, outcome.base_us),
      MarkdownRow("new", report.changed.path, outcome.new_us),
      report.runtime_settings.empty() ? "On" : "In", MarkdownText(report.device.name),
      outcome.seconds, 100 * report.options.error_max);
  for (const std::string& sentence : PlanSentences(report)) {
    absl::StrAppend(&text, MarkdownText(sentence), "\n\n");
  }
  return text;
}

}  // namespace plait
