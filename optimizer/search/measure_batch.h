#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "optimizer/search/verifier.h"

namespace plait {

// Runs the candidates, the baseline first, and writes down what was measured for a replay, under
// their ids. A batch of several that was ended because it took too long is no error: each then has
// an error text and nothing else, see WasEnded.
// Errors: those of Verifier::Verify, DeadlineExceeded only for the baseline alone; Internal when it
// answers about other candidates.
absl::StatusOr<std::vector<CandidateMeasurement>> MeasureBatch(
    absl::Span<const PlanCandidate> candidates, const VerificationBatch& batch, Verifier& verifier,
    MeasurementLog& log);

// Whether a batch of several candidates was ended: none of them ran.
bool WasEnded(absl::Span<const CandidateMeasurement> measurements);

}  // namespace plait
