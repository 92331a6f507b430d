#include "bench/search/planted_plans.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/status_macros.h"
#include "bench/search/planted_kernel.h"
#include "optimizer/search/plan_graph.h"
#include "optimizer/search/speedup.h"

namespace plait {

absl::StatusOr<PlanCandidate> PlantedPlans::PlanOf(const Graph& graph) {
  const DeviceDescription& device = executor_.device();
  UnlimitedBudget budget;
  BudgetedProfiles budgeted(profiles_.cache, budget, profiles_.log);
  const SearchDevice search_device{device, catalog_, profiles_.cache, ScheduleDeviceOf(device)};
  PLAIT_ASSIGN_OR_RETURN(
      const PlannedGraph planned,
      PlanBaseline(graph, search_device, {device.fingerprint, "", device.threads}, budgeted));
  return PlanCandidate{CandidateId(graph, planned.plan), graph, planned.plan, planned.predicted_us};
}

absl::StatusOr<PlanCandidate> PlantedPlans::Slower(int count) {
  if (!largest_) {
    std::pair<double, NodeId> largest = {0, 0};
    for (NodeId node = 0; node < graph_.node_count(); ++node) {
      PLAIT_ASSIGN_OR_RETURN(const std::optional<Graph> slower, WithKernelsMore(graph_, node, 1));
      if (!slower) continue;
      PLAIT_ASSIGN_OR_RETURN(const PlanCandidate planted, PlanOf(*slower));
      largest = std::max(largest, {planted.predicted_us, node});
    }
    largest_ = largest.second;
  }
  PLAIT_ASSIGN_OR_RETURN(const std::optional<Graph> slower,
                         WithKernelsMore(graph_, *largest_, count));
  if (!slower) return absl::InvalidArgumentError("the model has no float32 results");
  return PlanOf(*slower);
}

absl::StatusOr<int> PlantedPlans::CountFor(double part) {
  constexpr int kTriedMax = 1024;
  constexpr double kFoundMin = 0.1;
  PLAIT_ASSIGN_OR_RETURN(const PlanCandidate plain, Baseline());
  for (int tried = 8;; tried *= 2) {
    PLAIT_ASSIGN_OR_RETURN(const PlanCandidate slower, Slower(tried));
    PLAIT_ASSIGN_OR_RETURN(
        const std::vector<CandidateMeasurement> measured,
        verifier_.Verify({slower, plain}, {.loads = 6, .rounds = 10, .rounds_min = 60}));
    const PairedRounds rounds = {measured[0].latency_us, measured[1].latency_us,
                                 measured[0].load_rounds};
    const double found = EstimateSpeedup(rounds, {}).median - 1;
    if (found < kFoundMin && tried < kTriedMax) continue;
    return std::max(1, static_cast<int>(std::lround(tried * part / std::max(found, 1e-3))));
  }
}

}  // namespace plait
