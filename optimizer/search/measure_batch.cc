#include "optimizer/search/measure_batch.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace plait {

absl::StatusOr<std::vector<CandidateMeasurement>> MeasureBatch(
    absl::Span<const PlanCandidate> candidates, const VerificationBatch& batch, Verifier& verifier,
    MeasurementLog& log) {
  absl::StatusOr<std::vector<CandidateMeasurement>> answer = verifier.Verify(candidates, batch);
  if (candidates.size() > 1 && absl::IsDeadlineExceeded(answer.status())) {
    CandidateMeasurement none;
    none.error = std::string(answer.status().message());
    answer = std::vector<CandidateMeasurement>(candidates.size(), none);
  }
  PLAIT_ASSIGN_OR_RETURN(std::vector<CandidateMeasurement> measurements, std::move(answer));
  if (measurements.size() != candidates.size()) {
    return absl::InternalError(absl::StrCat("the verifier answered about ", measurements.size(),
                                            " of ", candidates.size(), " candidates"));
  }
  for (size_t i = 0; i < candidates.size(); ++i) measurements[i].candidate = candidates[i].id;
  log.AddVerification(measurements);
  return measurements;
}

bool WasEnded(absl::Span<const CandidateMeasurement> measurements) {
  return measurements.size() > 1 &&
         std::all_of(measurements.begin(), measurements.end(),
                     [](const CandidateMeasurement& one) { return !one.error.empty(); });
}

}  // namespace plait
