#include "bench/search/local_verifier.h"

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "gpu_worker/executor/measure_plans.h"

namespace plait {

absl::StatusOr<std::vector<CandidateMeasurement>> LocalVerifier::Verify(
    absl::Span<const PlanCandidate> candidates, const VerificationBatch& batch) {
  std::vector<CandidatePlan> plans;
  for (const PlanCandidate& candidate : candidates) {
    plans.push_back({&candidate.graph, &candidate.plan});
  }
  MeasureOptions options;
  options.loads = batch.loads;
  options.rounds = batch.rounds;
  options.rounds_min = batch.rounds_min;
  options.time_max = absl::Seconds(batch.seconds_max);
  options.random_inputs = batch.random_inputs;
  PLAIT_ASSIGN_OR_RETURN(const auto measured, MeasurePlans(executor_, plans, weights_, options));
  std::vector<CandidateMeasurement> measurements;
  for (const absl::StatusOr<CandidateMeasurement>& measurement : measured) {
    PLAIT_RETURN_IF_ERROR(measurement.status());
    measurements.push_back(*measurement);
  }
  return measurements;
}

absl::StatusOr<std::vector<LayerError>> LocalVerifier::MeasureErrors(const PlanCandidate& candidate,
                                                                     absl::Span<const int>) {
  return absl::FailedPreconditionError(absl::StrCat(candidate.id, " is not a baseline"));
}

}  // namespace plait
