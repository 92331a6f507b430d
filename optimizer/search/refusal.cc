#include "optimizer/search/refusal.h"

#include <algorithm>
#include <iterator>
#include <tuple>
#include <utility>

#include "absl/strings/str_format.h"
#include "base/limits.h"
#include "base/statistics.h"

namespace plait {
namespace {

RefusalReason ReasonOf(const MeasuredPlan& baseline, const MeasuredPlan& refused) {
  const CandidateMeasurement& measurement = refused.measurement;
  if (!measurement.error.empty()) return RefusalReason::kFailed;
  if (measurement.equivalence.verdict == Verdict::kDifferent) return RefusalReason::kDifferent;
  if (!AreComparable(baseline.measurement, measurement)) return RefusalReason::kFailed;
  return measurement.equivalence.verdict == Verdict::kInconclusive ? RefusalReason::kInconclusive
                                                                   : RefusalReason::kNotFaster;
}

// What is judged of an output, and of all of them.
template <typename Errors>
double JudgedError(const Errors& errors) {
  return std::max(errors.max_rel_error, errors.max_channel_error);
}

// The name of the output whose error is the largest. Another graph than the baseline's may have
// other names.
std::string WorstOutput(const Graph& baseline, const std::vector<OutputError>& outputs) {
  const size_t count = std::min(outputs.size(), baseline.outputs().size());
  size_t worst = 0;
  for (size_t i = 1; i < count; ++i) {
    if (JudgedError(outputs[i]) > JudgedError(outputs[worst])) worst = i;
  }
  if (count == 0 || JudgedError(outputs[worst]) == 0) return "";
  const auto& name = baseline.tensor(baseline.outputs()[worst]).name;
  return name == nullptr ? "" : *name;
}

// What is told without times of runs.
Refusal Untimed(const MeasuredPlan& baseline, const MeasuredPlan& refused, RefusalReason reason,
                double rel_error_max) {
  const CandidateMeasurement& measurement = refused.measurement;
  Refusal refusal;
  refusal.reason = reason;
  refusal.predicted_us = refused.candidate.predicted_us;
  if (refusal.predicted_us > 0) {
    refusal.predicted_speedup = baseline.candidate.predicted_us / refusal.predicted_us;
  }
  if (reason == RefusalReason::kFailed) refusal.message = measurement.error;
  if (reason != RefusalReason::kDifferent) return refusal;
  refusal.error = JudgedError(measurement.equivalence);
  refusal.limit = rel_error_max;
  refusal.place = WorstOutput(baseline.candidate.graph, measurement.equivalence.outputs);
  if (measurement.equivalence.exact_ratio > 0) {
    refusal.message = absl::StrFormat("%.2g times as far from exact outputs as the original",
                                      measurement.equivalence.exact_ratio);
  }
  return refusal;
}

// The error that was too large, and what it may be.
std::pair<double, double> ErrorAndLimit(const LayerError& error) {
  const double limit = AdmittedError(error.serial_error);
  if (!(error.error <= limit)) return {error.error, limit};
  return {error.hard_error, AdmittedError(error.serial_hard_error)};
}

}  // namespace

absl::string_view RefusalReasonName(RefusalReason reason) {
  switch (reason) {
    case RefusalReason::kDifferent:
      return "different";
    case RefusalReason::kInconclusive:
      return "inconclusive";
    case RefusalReason::kFailed:
      return "failed";
    case RefusalReason::kNotChosen:
      return "not_chosen";
    case RefusalReason::kNotFaster:
      return "not_faster";
    case RefusalReason::kInaccurate:
      break;
  }
  return "inaccurate";
}

Refusal RefusalOf(const MeasuredPlan& baseline, const MeasuredPlan& refused, double rel_error_max,
                  const LoadEffect& effect, int looks) {
  const CandidateMeasurement& measurement = refused.measurement;
  Refusal refusal = Untimed(baseline, refused, ReasonOf(baseline, refused), rel_error_max);
  if (refusal.reason == RefusalReason::kFailed && refusal.message.empty()) {
    refusal.message = "no times of its runs";
  }
  if (!measurement.error.empty() || !AreComparable(baseline.measurement, measurement)) {
    return refusal;
  }
  const Speedup speedup = EstimateSpeedup(
      {baseline.measurement.latency_us, measurement.latency_us, baseline.measurement.load_rounds},
      effect, looks);
  refusal.latency_us = Median(measurement.latency_us);
  refusal.speedup = speedup.median;
  refusal.speedup_certain = speedup.certain;
  return refusal;
}

Refusal PredictedRefusalOf(const MeasuredPlan& baseline, const MeasuredPlan& refused,
                           double rel_error_max) {
  RefusalReason reason = RefusalReason::kInconclusive;
  if (refused.measurement.equivalence.verdict == Verdict::kDifferent) {
    reason = RefusalReason::kDifferent;
  }
  if (!refused.measurement.error.empty()) reason = RefusalReason::kFailed;
  return Untimed(baseline, refused, reason, rel_error_max);
}

Refusal UncertainRefusalOf(const PlanCandidate& baseline, const PlanCandidate& refused,
                           const Speedup& speedup) {
  const CandidateMeasurement none;
  Refusal refusal = Untimed({baseline, none}, {refused, none}, RefusalReason::kNotFaster, 0);
  refusal.speedup = speedup.median;
  refusal.speedup_certain = speedup.certain;
  return refusal;
}

void AddRefusedKernel(absl::string_view family, int layers, absl::string_view place,
                      const LayerError& error, std::vector<Refusal>& refusals) {
  auto entry = std::find_if(refusals.begin(), refusals.end(),
                            [&](const Refusal& known) { return known.kernel == family; });
  if (entry == refusals.end()) {
    refusals.push_back(
        {.reason = RefusalReason::kInaccurate, .kernel = std::string(family), .error = -1});
    entry = std::prev(refusals.end());
  }
  entry->layers += layers;
  const auto [largest, limit] = ErrorAndLimit(error);
  if (largest <= entry->error) return;
  entry->error = largest;
  entry->limit = limit;
  entry->place = std::string(place);
}

std::string RefusalLine(const Refusal& refusal) {
  std::string line = absl::StrFormat("refused: a plan of %.6g us, %s", refusal.predicted_us,
                                     RefusalReasonName(refusal.reason));
  if (refusal.limit > 0) {
    absl::StrAppendFormat(&line, " by %.2g at %s", refusal.error, refusal.place);
  }
  if (refusal.speedup > 0) absl::StrAppendFormat(&line, ", speedup %.6g", refusal.speedup);
  return line + "\n";
}

void SortRefusals(std::vector<Refusal>& refusals) {
  const auto rank = [](const Refusal& refusal) {
    return std::make_tuple(!refusal.kernel.empty(), -refusal.predicted_speedup);
  };
  std::stable_sort(refusals.begin(), refusals.end(),
                   [&](const Refusal& a, const Refusal& b) { return rank(a) < rank(b); });
  if (refusals.size() > size_t{kRefusalsMax}) refusals.resize(kRefusalsMax);
}

}  // namespace plait
