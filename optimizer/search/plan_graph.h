#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "optimizer/plan/make_plan.h"
#include "optimizer/search/budgeted_profiles.h"
#include "optimizer/search/search_device.h"

namespace plait {

// A way to run one graph, with the time that the simulator gives it. Plans pass CheckPlan.
// The prediction is for comparing plans of one graph on one device; a report gives it beside what
// was measured.
struct PlannedGraph {
  Plan plan;
  double predicted_us = 0;
  std::string origin;    // how it came about, such as "fastest cover, plait"; for the trace
  std::string schedule;  // the policy that placed its kernels
};

// The plan that everything is compared with: one kernel per node, each with its best measured
// variant and format, one after the other: what a good runtime without fusion would do. It has no
// kernel that needs admission, and its profiles are measured whatever the budget says.
// Errors: FailedPrecondition naming a node that no kernel can run; those of measuring.
absl::StatusOr<PlannedGraph> PlanBaseline(const Graph& graph, const SearchDevice& device,
                                          const PlanBinding& binding, BudgetedProfiles& profiles);

// Steps of measuring that the budget did not allow the baseline.
int64_t BaselineStepsMissing(const Graph& graph, const SearchDevice& device);

// Fused plans: the fastest cover one after the other and under `policy`, and the cover of narrow
// kernels under `policy`; the shortest first. Kernels that the budget left unmeasured or that
// are refused are not used, so there is always a plan, at worst one of single nodes. The narrow
// cover is left out on a device with one stream. All of them are kept, because measuring may see
// what the simulator does not. Latencies are those of the simulator, in microseconds. `memo` is
// what other graphs' schedules found out, for less time and equal plans; nullptr: nothing is known.
// Errors: as PlanBaseline.
absl::StatusOr<std::vector<PlannedGraph>> PlanFused(const Graph& graph, const SearchDevice& device,
                                                    const PlanBinding& binding,
                                                    const SchedulePolicy& policy,
                                                    BudgetedProfiles& profiles,
                                                    ScheduleMemo* memo = nullptr);

}  // namespace plait
