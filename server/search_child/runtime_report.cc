#include "server/search_child/runtime_report.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/statistics.h"
#include "server/search_child/plan_targets.h"

namespace plait {
namespace {

constexpr char kPlait[] = "plait";

void SetRuntimeTimes(const std::vector<double>& original_us, const std::vector<double>& returned_us,
                     v1::RuntimeReport* line) {
  line->set_original_us_median(Median(original_us));
  line->set_original_us_p10(Quantile(original_us, 0.1));
  line->set_original_us_p95(Quantile(original_us, 0.95));
  line->set_latency_us_median(Median(returned_us));
  line->set_latency_us_p10(Quantile(returned_us, 0.1));
  line->set_latency_us_p95(Quantile(returned_us, 0.95));
}

void SetRatio(const Speedup& speedup, v1::RuntimeReport* line) {
  line->set_ratio(speedup.median);
  line->set_ratio_low(speedup.low);
  line->set_ratio_high(speedup.high);
}

void AddPlait(const internal::Start& start, const SearchResult& found, v1::Report& report) {
  v1::RuntimeReport& line = *report.add_runtimes();
  line.set_runtime(kPlait);
  line.set_version(start.engine_version());
  line.set_threads(ThreadsOfJob(start.options(), start.device().cores()));
  line.set_options(absl::StrCat("threads=", line.threads()));
  SetRuntimeTimes(found.baseline_latency_us, found.optimized_latency_us, &line);
  SetRatio(found.speedup, &line);
}

// In the place of the times of parts.
void SetWhole(const RuntimeDecision& whole, v1::RuntimeReport* line) {
  SetRuntimeTimes(whole.original.latency_us, whole.model.latency_us, line);
  SetRatio(whole.speedup, line);
  line->set_options(whole.options);
  line->set_note(absl::StrCat("of plait.InferenceSession ", whole.version,
                              ", which runs the nodes that plait lacks in onnxruntime"));
}

// Of plait's line where the model has nodes that plait lacks: a worker times the parts between them
// and not the whole. `best` is the fastest of the other runtimes, which run all of it; or null.
std::string NoteOfParts(const v1::RuntimeReport& parts, const v1::RuntimeReport* best,
                        const std::optional<RuntimeDecision>& whole) {
  const bool is_slower = best != nullptr && parts.latency_us_p10() >= best->latency_us_p10();
  return absl::StrCat("sums over parts, without the nodes that plait lacks: ",
                      is_slower ? "even so it is not the fastest"
                                : "not recommended, since the whole has no time here (time a run "
                                  "of plait.InferenceSession: it may be the fastest)",
                      whole ? absl::StrCat("; of that: ", whole->note) : "");
}

bool IsMeasured(const RuntimeDecision& decision) { return !decision.original.latency_us.empty(); }

}  // namespace

void AddRuntimes(const internal::Start& start, const SearchResult& found,
                 const RuntimeDecisions& decisions, v1::Report& report) {
  const auto& names = start.options().runtimes();
  const bool is_measured = !start.device().predicted();
  const bool has_whole = decisions.of_whole && decisions.of_whole->note.empty();
  if (is_measured &&
      (names.empty() || std::find(names.begin(), names.end(), kPlait) != names.end())) {
    AddPlait(start, found, report);
    if (has_whole) SetWhole(*decisions.of_whole, report.mutable_runtimes(0));
  }
  for (const RuntimeDecision& decision : decisions.of_body) {
    v1::RuntimeReport& line = *report.add_runtimes();
    line.set_runtime(decision.runtime);
    line.set_version(decision.version);
    line.set_options(decision.options);
    line.set_threads(decision.threads);
    line.set_note(decision.note);
    SetRatio(decision.speedup, &line);
    if (IsMeasured(decision)) {
      SetRuntimeTimes(decision.original.latency_us, decision.model.latency_us, &line);
    }
  }
  // Runtimes are measured one after the other, and what disturbs a machine for some seconds adds to
  // the times of one of them: a quantile below the median sees less of it.
  v1::RuntimeReport* parts = nullptr;
  const v1::RuntimeReport* best = nullptr;
  for (v1::RuntimeReport& line : *report.mutable_runtimes()) {
    if (line.latency_us_median() == 0) continue;
    if (line.runtime() == kPlait && !found.islands.empty() && !has_whole) {
      parts = &line;
    } else if (best == nullptr || line.latency_us_p10() < best->latency_us_p10()) {
      best = &line;
    }
  }
  if (parts != nullptr) parts->set_note(NoteOfParts(*parts, best, decisions.of_whole));
  if (best == nullptr) return;
  v1::Recommendation& recommended = *report.mutable_recommended();
  recommended.set_runtime(best->runtime());
  recommended.set_threads(best->threads());
  recommended.set_options(best->options());
  recommended.set_latency_us(best->latency_us_median());
}

}  // namespace plait
