#include "optimizer/search/verify_predicted.h"

#include <algorithm>
#include <functional>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "optimizer/search/measure_batch.h"

namespace plait {
namespace {

// A nanosecond: a plan without kernels takes no time, and a ratio is a number.
constexpr double kPredictedUsMin = 1e-3;

// As little as proves that outputs are equal.
constexpr VerificationBatch kComparison = {.loads = 1, .rounds = 1, .rounds_min = 1};

// Plans of the same have the same outputs, but for the order of sums.
std::string ComputationOf(const PlanCandidate& candidate) {
  if (candidate.plan.precision != "strict") return absl::StrCat("plan ", candidate.id);
  return absl::StrCat("graph ", candidate.graph.fingerprint().ToString());
}

// The share of draws that may lie outside of either bound.
constexpr double kTailShare = 0.025;

// Of times of the baseline and of a candidate, by draw.
Speedup SpeedupOf(double median, absl::Span<const double> before_us,
                  absl::Span<const double> after_us) {
  if (before_us.empty())
    return {.median = median, .certain = median, .low = median, .high = median};
  std::vector<double> ratios;
  for (size_t draw = 0; draw < before_us.size(); ++draw) {
    ratios.push_back(before_us[draw] / std::max(after_us[draw], kPredictedUsMin));
  }
  std::sort(ratios.begin(), ratios.end());
  const auto outside = static_cast<size_t>(kTailShare * static_cast<double>(ratios.size()));
  const double low = std::min(median, ratios[outside]);
  const double high = std::max(median, ratios[ratios.size() - 1 - outside]);
  return {.median = median, .certain = low, .low = low, .high = high};
}

// Speed-ups over the baseline.
class PredictedSpeedups {
 public:
  PredictedSpeedups(const PlanCandidate& baseline, const VerificationOptions& options)
      : baseline_us_(baseline.predicted_us), draws_us_(options.predicted_draws_us) {
    if (draws_us_ != nullptr) baseline_draws_us_ = draws_us_(baseline);
  }

  Speedup Of(const PlanCandidate& candidate) const {
    const double ratio = baseline_us_ / std::max(candidate.predicted_us, kPredictedUsMin);
    return SpeedupOf(ratio, baseline_draws_us_,
                     draws_us_ != nullptr ? draws_us_(candidate) : std::vector<double>());
  }

 private:
  const double baseline_us_;
  const std::function<std::vector<double>(const PlanCandidate&)>& draws_us_;
  std::vector<double> baseline_draws_us_;
};

}  // namespace

absl::StatusOr<VerificationResult> VerifyPredicted(absl::Span<const PlanCandidate> candidates,
                                                   const VerificationOptions& options,
                                                   const VerificationContext& context) {
  const PlanCandidate& baseline = candidates.front();
  VerificationResult result;
  std::vector<int> order;
  for (size_t i = 1; i < candidates.size(); ++i) {
    if (candidates[i].predicted_us < baseline.predicted_us) order.push_back(static_cast<int>(i));
  }
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) {
    return candidates[a].predicted_us < candidates[b].predicted_us;
  });
  absl::flat_hash_map<std::string, CandidateMeasurement> compared;  // by what they compute
  const PredictedSpeedups speedups(baseline, options);
  for (const int index : order) {
    const PlanCandidate& candidate = candidates[index];
    const Speedup speedup = speedups.Of(candidate);
    if (speedup.certain <= 1) {
      result.refused.push_back(UncertainRefusalOf(baseline, candidate, speedup));
      continue;
    }
    std::string computation = ComputationOf(candidate);
    auto known = compared.find(computation);
    if (known == compared.end()) {
      PLAIT_ASSIGN_OR_RETURN(
          std::vector<CandidateMeasurement> measured,
          MeasureBatch({baseline, candidate}, kComparison, context.verifier, context.log));
      result.baseline = std::move(measured[0]);
      known = compared.emplace(std::move(computation), std::move(measured[1])).first;
    }
    const bool ran = known->second.error.empty();
    if (ran && IsAccepted(known->second.equivalence, options.accept_inconclusive)) {
      result.winner = index;
      result.optimized = known->second;
      result.speedup = speedup;
      return result;
    }
    result.refused.push_back(PredictedRefusalOf({baseline, result.baseline},
                                                {candidate, known->second}, options.rel_error_max));
  }
  // The original is equal to itself; a report says on how many inputs that was looked at.
  if (compared.empty()) {
    PLAIT_ASSIGN_OR_RETURN(std::vector<CandidateMeasurement> measured,
                           MeasureBatch({baseline}, kComparison, context.verifier, context.log));
    result.baseline = std::move(measured[0]);
  }
  result.optimized = result.baseline;
  return result;
}

}  // namespace plait
