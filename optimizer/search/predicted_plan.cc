#include "optimizer/search/predicted_plan.h"

#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "optimizer/cost/predicted_profiler.h"
#include "optimizer/search/budget.h"

namespace plait {
namespace {

// A plan in line: whether kernels beside each other are faster is nothing to guess.
ScheduleDevice OneStream(const DeviceDescription& device) {
  ScheduleDevice schedule = ScheduleDeviceOf(device);
  schedule.streams_max = 1;
  return schedule;
}

// What planning asks for, with a profiler that measures nothing behind it.
class Prediction {
 public:
  Prediction(const DeviceDescription& device, const KernelCatalog& catalog,
             const std::string& engine_version, const Admissions& admitted)
      : profiler_(device, catalog),
        profiles_(profiler_, log_),
        budgeted_(profiles_, budget_, log_),
        admissions_(admitted),
        device_{device, catalog, profiles_, OneStream(device), &admissions_},
        binding_{device.fingerprint, engine_version, device.threads} {
    admissions_.RefuseUnknown();
  }

  absl::StatusOr<PlannedGraph> Fused(const Graph& graph) {
    PLAIT_ASSIGN_OR_RETURN(std::vector<PlannedGraph> plans,
                           PlanFused(graph, device_, binding_, kSequentialPolicy, budgeted_));
    return Marked(std::move(plans.front()));
  }
  absl::StatusOr<PlannedGraph> Baseline(const Graph& graph) {
    PLAIT_ASSIGN_OR_RETURN(PlannedGraph planned, PlanBaseline(graph, device_, binding_, budgeted_));
    return Marked(std::move(planned));
  }

 private:
  static PlannedGraph Marked(PlannedGraph planned) {
    planned.plan.predicted = true;
    return planned;
  }

  PredictedProfiler profiler_;
  MeasurementLog log_;
  ProfileCache profiles_;
  UnlimitedBudget budget_;
  BudgetedProfiles budgeted_;
  Admissions admissions_;
  SearchDevice device_;
  PlanBinding binding_;
};

}  // namespace

absl::StatusOr<PlannedGraph> PredictedPlan(const Graph& graph, const DeviceDescription& device,
                                           const KernelCatalog& catalog,
                                           const std::string& engine_version,
                                           const Admissions& admitted) {
  return Prediction(device, catalog, engine_version, admitted).Fused(graph);
}

Admissions AdmittedBy(const Plan& plan, const Graph& graph, const KernelCatalog& catalog) {
  Admissions admissions;
  for (const Step& step : plan.steps) {
    if (step.kernel.nodes.empty() || !catalog.NeedsAdmission(step.kernel)) continue;
    admissions.Add(graph, step.kernel, LayerError());
  }
  return admissions;
}

absl::StatusOr<PlannedGraph> PredictedBaseline(const Graph& graph, const DeviceDescription& device,
                                               const KernelCatalog& catalog,
                                               const std::string& engine_version) {
  return Prediction(device, catalog, engine_version, {}).Baseline(graph);
}

}  // namespace plait
