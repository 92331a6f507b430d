#include "server/search_child/measured_body.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/statistics.h"
#include "base/status_macros.h"
#include "optimizer/normal_form/canonicalize.h"
#include "optimizer/onnx/check_export.h"
#include "optimizer/onnx/export.h"
#include "server/search_child/measured_whole.h"
#include "server/search_child/plan_targets.h"
#include "server/search_child/plans_in_body.h"

namespace plait {
namespace {

constexpr double kBudgetShare = 0.15;
constexpr double kSecondsLeast = 2;  // of one runtime: three loads of a small model
constexpr double kBudgetShareMax = 0.5;
// A graph is exported, imported again to be checked, and becomes a blob.
constexpr double kSecondsPerByteWritten = 5e-9;
// Rewritten graphs: each is a process, and its rounds are taken from the others.
constexpr size_t kRewrittenMax = 3;

struct Rewritten {
  Graph graph;
  Body body = Body::kSearched;
};

Body BodyOfRules(const RuleCounts& rules) {
  return IsPortable(rules) ? Body::kPortable : Body::kSearched;
}

// A file with several plans, of this job or others, has the original's body, and so has one whose
// batch is open: a rewritten graph has the plan's.
bool IsChoiceOpen(const FoundModel& model) {
  const v1::OptimizeOptions& options = model.start.options();
  return !model.keeps_plans && options.body() == "auto" && options.opset() == 0 &&
         options.plan_for().empty() && options.shape_ranges().empty() &&
         !LeavesBatchOpen(model.model, options);
}

bool NamesPlait(const v1::OptimizeOptions& options) {
  const auto& names = options.runtimes();
  return names.empty() || std::find(names.begin(), names.end(), "plait") != names.end();
}

// The best few that differ from the original and from each other.
absl::StatusOr<std::vector<Rewritten>> RewrittenOf(const FoundModel& model) {
  const SearchResult& found = model.found;
  std::vector<Rewritten> rewritten;
  std::set<std::string> seen = {model.bound.graph.fingerprint().ToString()};
  const auto add = [&](const Graph& graph, Body body) {
    if (rewritten.size() < kRewrittenMax && seen.insert(graph.fingerprint().ToString()).second) {
      rewritten.push_back({graph, body});
    }
  };
  if (!IsChoiceOpen(model)) {
    if (model.body != Body::kOriginal) add(found.graph, model.body);
    return rewritten;
  }
  if (found.improved) add(found.graph, BodyOfRules(found.rules_applied));
  RuleCounts counts;
  PLAIT_ASSIGN_OR_RETURN(const Graph portable,
                         Canonicalize(model.bound.graph, PortableRules(), &counts));
  add(portable, Body::kPortable);
  for (const KeptGraph& kept : found.other_graphs) {
    add(kept.graph, BodyOfRules(kept.rules_applied));
  }
  return rewritten;
}

class Measurer {
 public:
  Measurer(const FoundModel& found, JobRuntimes& runtimes) : found_(found), runtimes_(runtimes) {}

  absl::StatusOr<MeasuredBody> Run(std::vector<std::string>& warnings) {
    MeasuredBody measured;
    measured.body = found_.body;
    PLAIT_ASSIGN_OR_RETURN(RuntimeSource* const source, runtimes_.Source(warnings));
    if (source == nullptr || source->runtimes().empty()) return measured;
    const bool is_open = IsChoiceOpen(found_);
    const double latency_us = Median(found_.found.baseline_latency_us);
    PLAIT_ASSIGN_OR_RETURN(std::vector<Rewritten> rewritten, RewrittenOf(found_));
    const bool has_no_time =
        is_open && !rewritten.empty() &&
        !runtimes_.HasSeconds(SecondsOf(rewritten.size(), source->runtimes().size(), latency_us));
    if (has_no_time) rewritten.clear();
    PLAIT_RETURN_IF_ERROR(Export(rewritten, warnings));
    PLAIT_ASSIGN_OR_RETURN(BodyChoice choice,
                           ChooseBody(models_,
                                      {.is_given = !is_open,
                                       .keeps_time = MeasuresWhole(found_.found, *source),
                                       .has_no_time = has_no_time,
                                       .latency_us = latency_us,
                                       .load_effect = runtimes_.log().load_effect()},
                                      *source, runtimes_.log()));
    measured.decisions = std::move(choice.decisions);
    if (!is_open) {
      WarnOfSlower(measured.decisions, warnings);
      return measured;
    }
    measured.body = Body::kOriginal;
    if (choice.model == 0) return measured;
    Rewritten& chosen = rewritten_[static_cast<size_t>(choice.model) - 1];
    measured.body = chosen.body;
    if (chosen.graph.fingerprint() != found_.found.graph.fingerprint()) {
      measured.other_graph = std::move(chosen.graph);
    }
    return measured;
  }

 private:
  // To write the models and to decide about one of them, at least.
  double SecondsOf(size_t rewritten, size_t runtimes, double latency_us) const {
    const auto bytes = static_cast<int64_t>(found_.bytes.size());
    return kSecondsPerByteWritten * static_cast<double>(rewritten * found_.bytes.size()) +
           SecondsToDecideBody(static_cast<int>(runtimes), bytes, latency_us);
  }

  // Fills models_ and rewritten_ with what can be written, the original first, and tells the daemon
  // of it.
  absl::Status Export(std::vector<Rewritten>& rewritten, std::vector<std::string>& warnings) {
    models_ = {found_.start.model()};
    for (Rewritten& one : rewritten) {
      const ExportOptions options = {.opset = found_.start.options().opset()};
      const ModelWeights weights = found_.model.weights();
      const absl::StatusOr<std::string> bytes =
          ExportOnnx(found_.model, one.graph, weights, options);
      if (!bytes.ok() || !CheckExport(*bytes, one.graph, weights).ok()) continue;
      PLAIT_ASSIGN_OR_RETURN(const bool is_eligible, IsEligible(*bytes, warnings));
      if (!is_eligible) continue;
      v1::Digest digest;
      PLAIT_ASSIGN_OR_RETURN(const bool is_added, runtimes_.AddModel({*bytes}, digest));
      if (!is_added) continue;
      models_.push_back(digest);
      rewritten_.push_back(std::move(one));
    }
    return rewritten_.empty() ? absl::OkStatus() : runtimes_.Tell();
  }

  // Where plait is among the runtimes, no body is chosen that the plan could not go with: what
  // plait ran in the plan's place was not measured.
  absl::StatusOr<bool> IsEligible(absl::string_view body,
                                  std::vector<std::string>& warnings) const {
    if (!IsChoiceOpen(found_) || !NamesPlait(found_.start.options())) return true;
    PLAIT_ASSIGN_OR_RETURN(const BodyPlans plans, PlansInBody(found_.model, found_.found, body,
                                                              found_.start.engine_version()));
    if (plans.missing.empty()) return true;
    warnings.push_back(absl::StrCat(
        "a rewritten graph was not measured in other runtimes, because plait's plan could not be ",
        "in its file: ", plans.missing.front()));
    return false;
  }

  static void WarnOfSlower(const std::vector<RuntimeDecision>& decisions,
                           std::vector<std::string>& warnings) {
    for (const RuntimeDecision& decision : decisions) {
      if (decision.speedup.high >= 1) continue;
      warnings.push_back(absl::StrCat("the file's graph is slower in ", decision.runtime,
                                      " than the original (--body auto returns the original)"));
    }
  }

  const FoundModel& found_;
  JobRuntimes& runtimes_;
  std::vector<v1::Digest> models_;
  std::vector<Rewritten> rewritten_;  // of models_ behind the first
};

}  // namespace

double SecondsForRuntimes(double budget_seconds, int runtimes) {
  if (runtimes == 0) return 0;
  const double seconds = std::max(kBudgetShare * budget_seconds, kSecondsLeast * runtimes);
  return seconds <= kBudgetShareMax * budget_seconds ? seconds : 0;
}

absl::StatusOr<MeasuredBody> MeasureBodies(const FoundModel& found, JobRuntimes& runtimes,
                                           std::vector<std::string>& warnings) {
  return Measurer(found, runtimes).Run(warnings);
}

}  // namespace plait
