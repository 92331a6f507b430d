#pragma once

#include <optional>

#include "bench/search/local_verifier.h"
#include "client/local_profiler.h"
#include "gpu_worker/executor/executor.h"
#include "optimizer/kernels/kernel_catalog.h"

namespace plait {

// Baseline plans of a model on a device: of the model as it is, and with kernels more, which make
// it slower by a part that is known. Kernels are measured once for all. Not thread-safe.
class PlantedPlans {
 public:
  // All must outlive it.
  PlantedPlans(Executor& executor, const KernelCatalog& catalog, const Graph& graph,
               LocalVerifier& verifier)
      : executor_(executor),
        catalog_(catalog),
        graph_(graph),
        verifier_(verifier),
        profiles_(executor, {}) {}

  // Of the model as it is. Errors: those of measuring.
  absl::StatusOr<PlanCandidate> Baseline() { return PlanOf(graph_); }

  // The baseline with so many kernels more, behind the node where one takes the longest.
  // Errors: InvalidArgument for a model without float32 results; those of measuring.
  absl::StatusOr<PlanCandidate> Slower(int count);

  // How many kernels make the model slower by that part: so many are measured that the noise is
  // small beside what they take, since predictions are no measurements. Errors: as Slower.
  absl::StatusOr<int> CountFor(double part);

 private:
  absl::StatusOr<PlanCandidate> PlanOf(const Graph& graph);

  Executor& executor_;
  const KernelCatalog& catalog_;
  const Graph& graph_;
  LocalVerifier& verifier_;
  LocalProfiles profiles_;
  std::optional<NodeId> largest_;  // behind which kernels are planted
};

}  // namespace plait
