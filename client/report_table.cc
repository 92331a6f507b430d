#include "client/report_table.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "client/kept_text.h"
#include "optimizer/rules/rule.h"
#include "proto/wire/report_json.h"

namespace plait {
namespace {

// "NonMaxSuppression, Gather": those of host segments, each once.
std::string ReportedOperators(const v1::ModelReport& model) {
  std::set<std::string> names;
  for (const v1::HostSegment& segment : model.host_segments()) {
    names.insert(segment.operators().begin(), segment.operators().end());
  }
  return absl::StrJoin(names, ", ");
}

// ": NonZero x 2, TopK x 1"; an older plait's report only counts them.
std::string FallbackText(const v1::OptimizedReport& optimized) {
  std::vector<std::string> operators;
  for (const v1::FallbackOperator& fallback : optimized.fallback_operators()) {
    operators.push_back(absl::StrCat(fallback.op_type(), " x ", fallback.nodes()));
  }
  return operators.empty() ? "" : absl::StrCat(": ", absl::StrJoin(operators, ", "));
}

template <typename Measured>
void AppendLatency(absl::string_view label, const Measured& measured, std::string* text) {
  absl::StrAppendFormat(text, "%-12s %12.1f %12.1f %12.1f %9d\n", label,
                        measured.latency_us_median(), measured.latency_us_p10(),
                        measured.latency_us_p95(), measured.kernels());
}

template <typename Measured>
void AppendPrediction(absl::string_view label, const Measured& measured, std::string* text) {
  absl::StrAppendFormat(text, "%-12s %13.1f %9d", label, measured.predicted_us(),
                        measured.kernels());
  if (measured.has_predicted_us_low()) {
    absl::StrAppendFormat(text, "  [%.1f, %.1f]", measured.predicted_us_low(),
                          measured.predicted_us_high());
  }
  absl::StrAppend(text, "\n");
}

// Nothing was measured of a device that is only described.
void AppendPredictions(const v1::Report& report, std::string* text) {
  absl::StrAppendFormat(text, "%-12s %12s %9s  with other constants\n", "predicted, us", "one run",
                        "kernels");
  AppendPrediction("  baseline", report.baseline(), text);
  AppendPrediction("  optimized", report.optimized(), text);
  absl::StrAppendFormat(text, "speedup      %.3f [%.3f, %.3f], predicted\n", report.speedup(),
                        report.speedup_low(), report.speedup_high());
}

void AppendLatencies(const v1::Report& report, std::string* text) {
  absl::StrAppendFormat(text, "%-12s %12s %12s %12s %9s\n", "latency, us", "median", "p10", "p95",
                        "kernels");
  AppendLatency("  baseline", report.baseline(), text);
  AppendLatency("  optimized", report.optimized(), text);
  absl::StrAppendFormat(text, "speedup      %.3f (%.3f to %.3f when measured again)\n",
                        report.speedup(), report.speedup_low(), report.speedup_high());
}

absl::string_view LawOf(absl::string_view name) {
  const Rule* const rule = FindRule(name);
  return rule == nullptr ? "" : rule->law;
}

void AppendRules(const v1::SearchReport& search, bool explain, std::string* text) {
  const std::map<std::string, int64_t> rules(search.rules_applied().begin(),
                                             search.rules_applied().end());
  if (rules.empty()) {
    absl::StrAppend(text, "rules        none\n");
    return;
  }
  absl::string_view label = "rules";
  for (const auto& [rule, count] : rules) {
    absl::StrAppendFormat(text, "%-12s %s x %d", label, rule, count);
    if (explain) absl::StrAppend(text, "    ", LawOf(rule));
    absl::StrAppend(text, "\n");
    label = "";
  }
}

// Nothing that the lines above do not say where plait alone was measured.
void AppendRuntimes(const v1::Report& report, std::string* text) {
  const bool is_plait_alone =
      report.runtimes_size() == 1 && report.runtimes(0).runtime() == "plait";
  if (report.runtimes_size() == 0 || is_plait_alone) return;
  absl::StrAppendFormat(text, "%-12s %12s %12s %9s\n", "runtimes, us", "original", "returned",
                        "ratio");
  for (const v1::RuntimeReport& line : report.runtimes()) {
    const std::string name = absl::StrCat("  ", line.runtime());
    if (line.original_us_median() > 0) {
      absl::StrAppendFormat(text, "%-13s %11.1f %12.1f %9.3f (%.3f to %.3f)", name,
                            line.original_us_median(), line.latency_us_median(), line.ratio(),
                            line.ratio_low(), line.ratio_high());
    } else {
      absl::StrAppendFormat(text, "%-13s not measured", name);
    }
    absl::StrAppend(text, line.note().empty() ? "" : "  ", line.note(), "\n");
  }
  if (!report.has_recommended()) return;
  const v1::Recommendation& recommended = report.recommended();
  absl::StrAppendFormat(text, "recommended  %s: %.1f us, %s\n", recommended.runtime(),
                        recommended.latency_us(), recommended.options());
}

void AppendSearch(const v1::SearchReport& search, std::string* text) {
  absl::StrAppendFormat(text, "search       %.2f s searching, %.2f s profiling, %.2f s verifying\n",
                        search.seconds(), search.profiling_seconds(),
                        search.verification_seconds());
  absl::StrAppendFormat(text,
                        "             %d candidates (%d measured), %d profiles measured, "
                        "%d cached\n",
                        search.candidates(), search.candidates_measured(),
                        search.profiles_measured(), search.profiles_cached());
  if (search.profiles_unsteady() == 0) return;
  absl::StrAppendFormat(text,
                        "             %d of the profiles are unsteady, since the device's speed "
                        "moved: later jobs measure them again\n",
                        search.profiles_unsteady());
}

// ", 2 other shapes"; nothing of none.
std::string OtherShapesText(int64_t shapes) {
  if (shapes == 0) return "";
  return absl::StrCat(", ", shapes, " other shape", shapes == 1 ? "" : "s");
}

// "channels_last 75.0%, plain 25.0%": the largest share comes first.
std::string FormatsText(const v1::OptimizedReport& optimized) {
  std::vector<std::pair<double, absl::string_view>> shares;
  for (const auto& [format, share] : optimized.formats()) shares.emplace_back(-share, format);
  std::sort(shares.begin(), shares.end());
  return absl::StrJoin(shares, ", ", [](std::string* text, const auto& share) {
    absl::StrAppendFormat(text, "%s %.1f%%", share.second, -100 * share.first);
  });
}

// What the returned plan is made of, as far as the report knows it.
void AppendPlan(const v1::Report& report, std::string* text) {
  const v1::OptimizedReport& optimized = report.optimized();
  if (!optimized.formats().empty()) {
    absl::StrAppend(text, "formats      ", FormatsText(optimized), " of the FLOPs\n");
  }
  if (optimized.has_copies()) {
    absl::StrAppendFormat(text, "copies       %d of %d kernels\n", optimized.copies(),
                          optimized.kernels());
  }
  if (optimized.load_ms() > 0) {
    absl::StrAppendFormat(text, "load         %.1f ms, baseline %.1f ms\n", optimized.load_ms(),
                          report.baseline().load_ms());
  }
}

// Of the first outputs, where there are several; the line above has the worst of each number.
void AppendOutputErrors(const v1::EquivalenceReport& equivalence, std::string* text) {
  constexpr int kOutputsMax = 8;
  if (equivalence.outputs_size() < 2) return;
  for (int i = 0; i < std::min(kOutputsMax, equivalence.outputs_size()); ++i) {
    const v1::OutputError& output = equivalence.outputs(i);
    absl::StrAppendFormat(text, "             %s: %.3g, %.3g, rms error %.3g\n", output.name(),
                          output.max_abs_error(), output.max_rel_error(), output.rms_error());
  }
  if (equivalence.outputs_size() > kOutputsMax) {
    absl::StrAppendFormat(text, "             and %d outputs more (--json has them)\n",
                          equivalence.outputs_size() - kOutputsMax);
  }
}

}  // namespace

std::string ReportTable(const v1::Report& report, bool explain) {
  std::string text;
  absl::StrAppendFormat(&text, "model        %d nodes on %s (%s)%s%s\n", report.model().nodes(),
                        report.device().id(), report.device().name(),
                        report.device().predicted() ? ", predicted, not measured" : "",
                        report.cached() ? ", from the result cache" : "");
  report.device().predicted() ? AppendPredictions(report, &text) : AppendLatencies(report, &text);
  const std::string kept = KeptText(report);
  if (!kept.empty()) absl::StrAppend(&text, "kept         ", kept, "\n");
  AppendPlan(report, &text);
  absl::StrAppendFormat(&text,
                        "outputs      %s: max abs error %.3g, max rel error %.3g, "
                        "%d inputs%s\n",
                        wire::VerdictName(report.equivalence().verdict()),
                        report.equivalence().max_abs_error(), report.equivalence().max_rel_error(),
                        report.equivalence().inputs_tried(),
                        OtherShapesText(report.equivalence().shapes_checked()));
  AppendOutputErrors(report.equivalence(), &text);
  if (report.kept_plans_size() > 0) {
    absl::StrAppendFormat(&text, "kept plans   %d for other devices, threads or shapes\n",
                          report.kept_plans_size());
  }
  AppendRuntimes(report, &text);
  // Told only where there is something to act on.
  if (report.optimized().fallback_nodes() > 0) {
    absl::StrAppendFormat(&text, "fallback     %d nodes run as slow reference code%s\n",
                          report.optimized().fallback_nodes(), FallbackText(report.optimized()));
  }
  if (report.model().opaque_nodes_size() > 0) {
    absl::StrAppendFormat(
        &text, "opaque       %d nodes are not understood and run in another runtime (%s)\n",
        report.model().opaque_nodes_size(), ReportedOperators(report.model()));
  }
  AppendRules(report.search(), explain, &text);
  AppendSearch(report.search(), &text);
  if (!report.output().path().empty()) {
    absl::StrAppend(&text, "output       ", report.output().path(), "\n");
  }
  // Last, because it is long.
  if (explain) absl::StrAppend(&text, "\ndecisions of the search:\n", report.search().trace());
  return text;
}

}  // namespace plait
