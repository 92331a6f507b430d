#include "optimizer/search/plan_graph.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "optimizer/cover/cover.h"
#include "optimizer/schedule/schedule_memo.h"

namespace plait {
namespace {

// Whole graphs are covered a few times per job, so the beam may be wide.
constexpr int kGraphCoverStates = 32;

// Brings what no plan can do without, whatever the budget says.
absl::Status ResolveNeeded(const KernelOffers& offers, BudgetedProfiles& profiles) {
  while (true) {
    std::vector<ProfileQuery> needed;
    offers.AppendNeeded(&needed);
    if (needed.empty()) return absl::OkStatus();
    PLAIT_RETURN_IF_ERROR(profiles.ResolveAll(needed));
  }
}

// The graph's kernels after their profiles were brought: one kernel of every node in any case, then
// as far as the budget goes the others of single nodes, and fused ones.
absl::StatusOr<KernelTable> ResolveTable(const Graph& graph, const SearchDevice& device, bool fuse,
                                         BudgetedProfiles& profiles) {
  const KernelOffers offers(graph, {.device = device.description,
                                    .catalog = device.catalog,
                                    .profiles = device.profiles,
                                    .fuse = fuse,
                                    .admissions = device.admissions,
                                    .us_per_byte = device.us_per_byte});
  PLAIT_RETURN_IF_ERROR(ResolveNeeded(offers, profiles));
  for (const bool single_nodes : {true, false}) {
    if (!single_nodes && !fuse) continue;
    std::vector<ProfileQuery> missing;
    offers.AppendMissing(single_nodes, &missing);
    PLAIT_RETURN_IF_ERROR(profiles.Resolve(std::move(missing)));
  }
  return offers.Table();
}

PlannedGraph PlanCover(const Graph& graph, const Cover& cover, const SearchDevice& device,
                       const PlanBinding& binding, const SchedulePolicy& policy,
                       ScheduleMemo& memo) {
  const ScheduleProblem problem = MakeScheduleProblem(cover, device.schedule);
  const Schedule& schedule = memo.ScheduleOf(policy, problem);
  return {MakePlan(graph, cover, schedule, device.catalog, binding), MakespanUs(problem, schedule),
          "", std::string(policy.name)};
}

}  // namespace

absl::StatusOr<PlannedGraph> PlanBaseline(const Graph& graph, const SearchDevice& device,
                                          const PlanBinding& binding, BudgetedProfiles& profiles) {
  PLAIT_ASSIGN_OR_RETURN(const KernelTable table, ResolveTable(graph, device, false, profiles));
  PLAIT_ASSIGN_OR_RETURN(const Cover cover,
                         FindCover(graph, table, {.states_max = kGraphCoverStates}));
  ScheduleMemo memo;
  PlannedGraph planned = PlanCover(graph, cover, device, binding, kSequentialPolicy, memo);
  planned.origin = "baseline";
  return planned;
}

int64_t BaselineStepsMissing(const Graph& graph, const SearchDevice& device) {
  const KernelOffers offers(graph, {.device = device.description,
                                    .catalog = device.catalog,
                                    .profiles = device.profiles,
                                    .fuse = false});
  std::vector<ProfileQuery> missing;
  offers.AppendMissing(/*single_nodes=*/true, &missing);
  return BudgetedProfiles::StepsOf(missing);
}

absl::StatusOr<std::vector<PlannedGraph>> PlanFused(const Graph& graph, const SearchDevice& device,
                                                    const PlanBinding& binding,
                                                    const SchedulePolicy& policy,
                                                    BudgetedProfiles& profiles,
                                                    ScheduleMemo* memo) {
  ScheduleMemo own;
  if (memo == nullptr) memo = &own;
  PLAIT_ASSIGN_OR_RETURN(const KernelTable table, ResolveTable(graph, device, true, profiles));
  std::vector<PlannedGraph> plans;
  for (const CoverWidth width : {CoverWidth::kFastest, CoverWidth::kPart}) {
    const bool fastest = width == CoverWidth::kFastest;
    if (!fastest && device.schedule.streams_max == 1) continue;
    PLAIT_ASSIGN_OR_RETURN(const Cover cover,
                           FindCover(graph, table,
                                     {.width = width,
                                      .states_max = kGraphCoverStates,
                                      .streams = fastest ? 1 : device.schedule.streams_max,
                                      .launch_gap_us = device.schedule.overheads.launch_gap_us}));
    for (const SchedulePolicy* candidate : {&kSequentialPolicy, &policy}) {
      // A narrow cover that runs in line is never better than the fastest one.
      if (!fastest && candidate == &kSequentialPolicy) continue;
      PlannedGraph planned = PlanCover(graph, cover, device, binding, *candidate, *memo);
      planned.origin = absl::StrCat(fastest ? "fastest" : "narrow", " cover, ", candidate->name);
      plans.push_back(std::move(planned));
    }
  }
  std::stable_sort(plans.begin(), plans.end(), [](const PlannedGraph& a, const PlannedGraph& b) {
    return a.predicted_us < b.predicted_us;
  });
  return plans;
}

}  // namespace plait
