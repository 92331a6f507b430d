#pragma once

#include <vector>

#include "gpu_worker/executor/executor.h"
#include "optimizer/search/verifier.h"

namespace plait {

// Measures in this process. Not thread-safe.
class LocalVerifier : public Verifier {
 public:
  // Both must outlive it. The weights are those of all candidates.
  LocalVerifier(Executor& executor, const WeightSource& weights)
      : executor_(executor), weights_(weights) {}

  absl::StatusOr<std::vector<CandidateMeasurement>> Verify(
      absl::Span<const PlanCandidate> candidates, const VerificationBatch& batch) override;

  // Only baselines are measured here, which have no such steps: always FailedPrecondition.
  absl::StatusOr<std::vector<LayerError>> MeasureErrors(const PlanCandidate& candidate,
                                                        absl::Span<const int> steps) override;

 private:
  Executor& executor_;
  const WeightSource& weights_;
};

}  // namespace plait
