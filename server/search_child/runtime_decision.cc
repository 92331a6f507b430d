#include "server/search_child/runtime_decision.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "base/statistics.h"
#include "optimizer/search/verifier.h"

namespace plait {

double RatioInRounds(const CandidateMeasurement& original, const CandidateMeasurement& model) {
  const auto& times = {&original.latency_us, &model.latency_us};
  const bool are_finite = std::all_of(times.begin(), times.end(), [](const auto* samples) {
    return std::all_of(samples->begin(), samples->end(),
                       [](double us) { return std::isfinite(us); });
  });
  if (!are_finite || !model.error.empty() || model.equivalence.verdict == Verdict::kDifferent ||
      !AreComparable(original, model)) {
    return 0;
  }
  std::vector<double> ratios;
  for (size_t i = 0; i < model.latency_us.size(); ++i) {
    ratios.push_back(original.latency_us[i] / model.latency_us[i]);
  }
  return Median(std::move(ratios));
}

RuntimeDecision DecisionOn(const RuntimeMeasurement& measured, size_t model, int chances,
                           const LoadEffect& load_effect) {
  RuntimeDecision decision;
  decision.runtime = measured.runtime;
  decision.version = measured.version;
  decision.options = measured.options;
  decision.threads = measured.threads;
  decision.original = measured.models[0];
  decision.model = measured.models[model];
  if (!AreComparable(decision.original, decision.original)) {
    decision.note = decision.original.error.empty() ? "it has no times" : decision.original.error;
    return decision;
  }
  if (model == 0) return decision;
  if (RatioInRounds(decision.original, decision.model) == 0) {
    decision.note = decision.model.error.empty() ? "outputs of the rewritten graph differ in it"
                                                 : decision.model.error;
    return decision;
  }
  decision.speedup = EstimateSpeedup(
      {decision.original.latency_us, decision.model.latency_us, decision.original.load_rounds},
      load_effect, 1, chances);
  return decision;
}

}  // namespace plait
