#include "loading/predicted_plan.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "gpu_worker/backends/catalogs.h"
#include "loading/embedded.h"
#include "loading/predicted_profiler.h"
#include "optimizer/search/plan_graph.h"

namespace plait {

absl::StatusOr<Plan> PredictedPlan(const Graph& graph, const DeviceDescription& device) {
  PLAIT_ASSIGN_OR_RETURN(const auto catalog, CatalogFor(device));
  PredictedProfiler profiler(device, *catalog);
  MeasurementLog log;
  ProfileCache profiles(profiler, log);
  UnlimitedBudget budget;
  BudgetedProfiles budgeted(profiles, budget, log);
  Admissions admissions;
  admissions.RefuseUnknown();
  ScheduleDevice schedule;
  schedule.threads = device.threads;
  const SearchDevice search_device = {device, *catalog, profiles, schedule, &admissions};
  const PlanBinding binding = {device.fingerprint, std::string(PlanEngineVersion()),
                               device.threads};
  PLAIT_ASSIGN_OR_RETURN(std::vector<PlannedGraph> plans,
                         PlanFused(graph, search_device, binding, kSequentialPolicy, budgeted));
  return std::move(plans.front().plan);
}

}  // namespace plait
