// Says how often `plait gate` is right on real models: `gate_trials EQUAL PLANTED MODEL.onnx...`
// gates the baseline plan of each model against itself EQUAL times, and PLANTED times against the
// same with some kernels more, which make it about 5 % slower. Each trial is one of `plait gate`
// with its defaults: at most 2 % slower, 60 s. Prints a line of JSON for each model:
//
//   equal             of EQUAL, how many passed, failed and were inconclusive; 90 % that pass and
//                     1 % that fail at most are promised
//   planted           the same of PLANTED, with the kernels planted and the ratio found (median of
//                     the trials); 95 % that fail are promised, and none that pass
//   seconds_median    of a trial
//
// Progress is on standard error, a line for each trial. On a quiet machine:
//
//   cmake --build build --target gate_trials_binary
//   build/gate_trials 100 50 resnet50.onnx bert_base.onnx
#include <cstdio>
#include <string>
#include <vector>

#include "absl/strings/str_format.h"
#include "base/clock.h"
#include "base/statistics.h"
#include "base/status_macros.h"
#include "bench/search/planted_plans.h"
#include "bench/search/trials.h"
#include "client/gate/measure_pairs.h"
#include "client/gate/outcome.h"
#include "client/loaded_model.h"

namespace plait {
namespace {

constexpr double kPlanted = 0.05;

// The outcomes of trials of one kind.
struct Trials {
  int pass = 0;
  int fail = 0;
  int inconclusive = 0;
  std::vector<double> ratios;
  std::vector<double> seconds;
  std::vector<double> loads;

  void Add(const GateOutcome& outcome) {
    pass += outcome.verdict == GateVerdict::kPass;
    fail += outcome.verdict == GateVerdict::kFail;
    inconclusive += outcome.verdict == GateVerdict::kInconclusive;
    ratios.push_back(outcome.ratio);
    seconds.push_back(outcome.seconds);
    loads.push_back(outcome.loads);
  }

  std::string Json() const {
    return absl::StrFormat(
        "\"trials\": %d, \"pass\": %d, \"fail\": %d, \"inconclusive\": %d, \"ratio_median\": %.4f, "
        "\"ratio_min\": %.4f, \"ratio_max\": %.4f, \"seconds_median\": %.1f, \"seconds_max\": "
        "%.1f, "
        "\"loads_median\": %.0f",
        ratios.size(), pass, fail, inconclusive, Median(ratios), Quantile(ratios, 0),
        Quantile(ratios, 1), Median(seconds), Quantile(seconds, 1), Median(loads));
  }
};

absl::StatusOr<Trials> Gate(Executor& executor, const GatedPlan& base, const GatedPlan& changed,
                            int count) {
  Trials trials;
  for (int i = 0; i < count; ++i) {
    PairedPlans pairs(executor, base, changed, static_cast<uint64_t>(i));
    PLAIT_ASSIGN_OR_RETURN(const GateOutcome outcome, DecideGate(pairs, SystemClock(), {}));
    trials.Add(outcome);
    const std::string verdict(GateVerdictName(outcome.verdict));
    std::fprintf(stderr, "%d: %s, ratio %.4f (%.4f to %.4f), %d loads, %.1f s\n", i,
                 verdict.c_str(), outcome.ratio, outcome.ratio_low, outcome.ratio_high,
                 outcome.loads, outcome.seconds);
  }
  return trials;
}

absl::StatusOr<std::string> TryModel(Executor& executor, const KernelCatalog& catalog,
                                     const LoadedModel& model, TrialCounts counts) {
  LocalVerifier verifier(executor, *model.weights);
  PlantedPlans plans(executor, catalog, model.graph, verifier);
  PLAIT_ASSIGN_OR_RETURN(const PlanCandidate plan, plans.Baseline());
  const GatedPlan base = {plan.graph, plan.plan, *model.weights};
  PLAIT_ASSIGN_OR_RETURN(const Trials same, Gate(executor, base, base, counts.equal));
  std::string text = absl::StrFormat("\"equal\": {%s}", same.Json());
  if (counts.planted == 0) return text;
  PLAIT_ASSIGN_OR_RETURN(const int count, plans.CountFor(kPlanted));
  PLAIT_ASSIGN_OR_RETURN(const PlanCandidate slower, plans.Slower(count));
  PLAIT_ASSIGN_OR_RETURN(
      const Trials slow,
      Gate(executor, base, {slower.graph, slower.plan, *model.weights}, counts.planted));
  return absl::StrFormat("%s, \"planted\": {\"kernels\": %d, %s}", text, count, slow.Json());
}

}  // namespace
}  // namespace plait

int main(int argc, char** argv) {
  return plait::TrialsMain("gate_trials", argc, argv, plait::TryModel);
}
