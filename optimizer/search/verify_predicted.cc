#include "optimizer/search/verify_predicted.h"

#include <algorithm>
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

// Times of plans by draw; none of a device without draws.
std::vector<double> DrawsOf(const PlanCandidate& candidate, const VerificationOptions& options) {
  if (options.predicted_draws_us == nullptr) return {};
  return options.predicted_draws_us(candidate);
}

// By what two plans take, and by what they take in the same draws.
Speedup SpeedupOf(double before_us, double after_us, absl::Span<const double> before_draws_us,
                  absl::Span<const double> after_draws_us) {
  std::vector<double> ratios;
  for (size_t draw = 0; draw < before_draws_us.size(); ++draw) {
    ratios.push_back(before_draws_us[draw] / std::max(after_draws_us[draw], kPredictedUsMin));
  }
  const double median = before_us / std::max(after_us, kPredictedUsMin);
  const auto [low, high] = BoundsOfDraws(median, std::move(ratios));
  return {.median = median, .certain = low, .low = low, .high = high};
}

}  // namespace

DrawBounds BoundsOfDraws(double nominal, std::vector<double> draws) {
  if (draws.empty()) return {nominal, nominal};
  std::sort(draws.begin(), draws.end());
  const auto outside = static_cast<size_t>(kTailShare * static_cast<double>(draws.size()));
  return {std::min(nominal, draws[outside]), std::max(nominal, draws[draws.size() - 1 - outside])};
}

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
  result.baseline_draws_us = DrawsOf(baseline, options);
  for (const int index : order) {
    const PlanCandidate& candidate = candidates[index];
    std::vector<double> draws_us = DrawsOf(candidate, options);
    const Speedup speedup = SpeedupOf(baseline.predicted_us, candidate.predicted_us,
                                      result.baseline_draws_us, draws_us);
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
      result.optimized_draws_us = std::move(draws_us);
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
  result.optimized_draws_us = result.baseline_draws_us;
  return result;
}

}  // namespace plait
