#include "optimizer/search/verify_predicted.h"

#include <algorithm>
#include <utility>

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
  for (const int index : order) {
    const PlanCandidate& candidate = candidates[index];
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
      const double ratio =
          baseline.predicted_us / std::max(candidate.predicted_us, kPredictedUsMin);
      result.speedup = {.median = ratio, .certain = ratio, .low = ratio, .high = ratio};
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
