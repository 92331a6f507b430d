#pragma once

#include <memory>
#include <string>
#include <vector>

#include "optimizer/kernels/kernel_catalog.h"
#include "optimizer/search/verifier.h"

namespace plait {

// Compares the outputs of candidates for a device on which nothing is measured. For one that is
// only described their graphs run on another device, one kernel per node; what they take there says
// nothing about the described one, and is dropped. On one that is simulated their plans run, and
// have no times. Not thread-safe.
class ComparingVerifier : public Verifier {
 public:
  // `device` is the other one, `catalog` its own, and `verifier` runs plans there. `verifier` must
  // outlive this one.
  ComparingVerifier(DeviceDescription device, std::unique_ptr<KernelCatalog> catalog,
                    std::string engine_version, Verifier& verifier)
      : device_(std::move(device)),
        catalog_(std::move(catalog)),
        engine_version_(std::move(engine_version)),
        verifier_(verifier) {}

  // On the simulated device itself, by `verifier`, which must outlive this one.
  explicit ComparingVerifier(Verifier& verifier) : verifier_(verifier) {}

  // Errors: FailedPrecondition naming a node that the other device cannot run; those of `verifier`.
  absl::StatusOr<std::vector<CandidateMeasurement>> Verify(
      absl::Span<const PlanCandidate> candidates, const VerificationBatch& batch) override;

  // None of a device that is only described, which has no kernels that need admission. A simulated
  // one measures them, by `verifier`, whose errors are this one's.
  absl::StatusOr<std::vector<LayerError>> MeasureErrors(const PlanCandidate& candidate,
                                                        absl::Span<const int> steps) override;

 private:
  const DeviceDescription device_;
  const std::unique_ptr<KernelCatalog> catalog_;  // null: plans run as they are
  const std::string engine_version_;
  Verifier& verifier_;
};

}  // namespace plait
