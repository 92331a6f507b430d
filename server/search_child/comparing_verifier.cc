#include "server/search_child/comparing_verifier.h"

#include <utility>

#include "base/status_macros.h"
#include "optimizer/search/predicted_plan.h"

namespace plait {

absl::StatusOr<std::vector<CandidateMeasurement>> ComparingVerifier::Verify(
    absl::Span<const PlanCandidate> candidates, const VerificationBatch& batch) {
  std::vector<PlanCandidate> elsewhere;
  if (catalog_ == nullptr) elsewhere.assign(candidates.begin(), candidates.end());
  for (const PlanCandidate& candidate : candidates) {
    if (catalog_ == nullptr) break;
    PLAIT_ASSIGN_OR_RETURN(PlannedGraph planned,
                           PredictedBaseline(candidate.graph, device_, *catalog_, engine_version_));
    elsewhere.push_back({CandidateId(candidate.graph, planned.plan), candidate.graph,
                         std::move(planned.plan), planned.predicted_us});
  }
  PLAIT_ASSIGN_OR_RETURN(std::vector<CandidateMeasurement> measurements,
                         verifier_.Verify(elsewhere, batch));
  for (CandidateMeasurement& measurement : measurements) {
    measurement.latency_us.clear();
    measurement.load_rounds.clear();
    measurement.load_ms.clear();
    measurement.clock = {};
    // Elsewhere other nodes have no kernel.
    if (catalog_ != nullptr) measurement.fallback_nodes = 0;
  }
  return measurements;
}

absl::StatusOr<std::vector<LayerError>> ComparingVerifier::MeasureErrors(
    const PlanCandidate& candidate, absl::Span<const int> steps) {
  if (catalog_ != nullptr) return std::vector<LayerError>();
  return verifier_.MeasureErrors(candidate, steps);
}

}  // namespace plait
