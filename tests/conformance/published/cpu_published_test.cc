#include <cstdio>

#include <gtest/gtest.h>

#include "base/status_macros.h"
#include "gpu_worker/backends/catalogs.h"
#include "gpu_worker/backends/open_executor.h"
#include "gpu_worker/executor/executor.h"
#include "optimizer/search/plan_graph.h"
#include "tests/conformance/published/published_report.h"

namespace plait {
namespace {

// Every kernel takes as long as any other: which ones are chosen does not depend on the machine.
class EqualTimes : public Profiler {
 public:
  absl::StatusOr<std::vector<Profile>> Measure(absl::Span<const ProfileRequest> requests) override {
    Profile profile;
    profile.latency_us_median = profile.latency_us_p10 = 1;
    profile.samples = 1;
    return std::vector<Profile>(requests.size(), profile);
  }
};

// The plans that a search would begin with: one kernel per node, or fused.
absl::StatusOr<Plan> PlanOf(const Graph& graph, const DeviceDescription& device, bool fused) {
  PLAIT_ASSIGN_OR_RETURN(const auto catalog, CatalogFor(device));
  MeasurementLog log;
  EqualTimes profiler;
  ProfileCache profiles(profiler, log);
  UnlimitedBudget budget;
  BudgetedProfiles budgeted(profiles, budget, log);
  const SearchDevice search_device = {device, *catalog, profiles, ScheduleDeviceOf(device)};
  const PlanBinding binding = {device.fingerprint, "test", device.threads};
  if (!fused) {
    PLAIT_ASSIGN_OR_RETURN(PlannedGraph planned,
                           PlanBaseline(graph, search_device, binding, budgeted));
    return std::move(planned.plan);
  }
  PLAIT_ASSIGN_OR_RETURN(const SchedulePolicy* const policy, FindPolicy("plait"));
  PLAIT_ASSIGN_OR_RETURN(std::vector<PlannedGraph> planned,
                         PlanFused(graph, search_device, binding, *policy, budgeted));
  return std::move(planned.front().plan);
}

class CpuPublishedTest : public testing::TestWithParam<bool> {};

TEST_P(CpuPublishedTest, ComputesWhatOnnxPublishes) {
  const absl::StatusOr<std::vector<PublishedCase>> cases = FindPublishedCases(PublishedRoot());
  if (!cases.ok()) GTEST_SKIP() << cases.status() << " (install libonnx-testdata)";
  const auto executor = OpenExecutor("cpu", {.threads = 2});
  ASSERT_TRUE(executor.ok()) << executor.status();
  int fallback_nodes = 0;
  const auto run = [&](const LoadedCase& loaded) -> absl::StatusOr<std::vector<Tensor>> {
    PLAIT_ASSIGN_OR_RETURN(const Plan plan,
                           PlanOf(loaded.graph, (*executor)->device(), GetParam()));
    const ModelWeights weights = loaded.model.weights();
    PLAIT_ASSIGN_OR_RETURN(const auto executable, (*executor)->Load(loaded.graph, plan, weights));
    fallback_nodes += executable->fallback_nodes();
    return executable->Run(loaded.inputs);
  };
  const PublishedReport report = RunPublishedCases(*cases, run);
  std::printf("%snodes run by reference code: %d\n", report.ToString().c_str(), fallback_nodes);
  ExpectOnlyKnownFailures(report);
}

INSTANTIATE_TEST_SUITE_P(Plans, CpuPublishedTest, testing::Bool(), [](const auto& plan) {
  return plan.param ? "Fused" : "OneKernelPerNode";
});

}  // namespace
}  // namespace plait
