#include "tests/fakes/planned_graph.h"

#include <gtest/gtest.h>

#include "optimizer/plan/make_plan.h"

namespace plait {

std::vector<Plan> PlansOf(const Graph& graph, const KernelCatalog& catalog,
                          const DeviceDescription& device, FakeProfiler profiler) {
  MeasurementLog log;
  ProfileCache profiles(profiler, log);
  const KernelOffers offers(graph, {device, catalog, profiles});
  std::vector<ProfileQuery> missing;
  offers.AppendMissing(/*single_nodes=*/false, &missing);
  EXPECT_TRUE(profiles.Resolve(missing).ok());
  const KernelTable table = offers.Table();
  std::vector<Plan> plans;
  for (const CoverWidth width : {CoverWidth::kFastest, CoverWidth::kPart}) {
    const absl::StatusOr<Cover> cover = FindCover(graph, table, {.width = width});
    EXPECT_TRUE(cover.ok()) << cover.status();
    if (!cover.ok()) continue;
    const ScheduleProblem problem =
        MakeScheduleProblem(*cover, {.threads = device.threads, .streams_max = device.threads});
    for (const SchedulePolicy* policy : AllPolicies()) {
      plans.push_back(MakePlan(graph, *cover, policy->assign(problem), catalog,
                               {device.fingerprint, "test", device.threads}));
      const absl::Status status = CheckPlan(plans.back(), graph);
      EXPECT_TRUE(status.ok()) << status << "\n" << policy->name;
      EXPECT_LE(MakespanUs(problem, kPlaitPolicy.assign(problem)),
                MakespanUs(problem, policy->assign(problem)) + 1e-9)
          << policy->name;
    }
  }
  return plans;
}

}  // namespace plait
