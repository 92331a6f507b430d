#include "bench/search/described_plans.h"

#include <memory>
#include <optional>
#include <utility>

#include "base/status_macros.h"
#include "gpu_worker/backends/catalogs.h"
#include "optimizer/search/budgeted_profiles.h"
#include "optimizer/search/plan_graph.h"

namespace plait {
namespace {

// Predicted profiles, as many as are asked for.
struct Predictions {
  explicit Predictions(Profiler& profiler) : cache(profiler, log), budgeted(cache, budget, log) {}

  MeasurementLog log;
  ProfileCache cache;
  UnlimitedBudget budget;
  BudgetedProfiles budgeted;
};

}  // namespace

absl::StatusOr<CoveredGraph> CoverDescribed(const Graph& graph, const DescribedDevice& described,
                                            int streams, PredictionDetail detail, bool fuse) {
  const DeviceDescription device = DescriptionOf(described);
  PLAIT_ASSIGN_OR_RETURN(const std::unique_ptr<KernelCatalog> catalog, CatalogFor(device));
  DescribedProfiler profiler(described, detail, catalog.get());
  Predictions predictions(profiler);
  const KernelOffers offers(
      graph, {.device = device, .catalog = *catalog, .profiles = predictions.cache, .fuse = fuse});
  std::vector<ProfileQuery> missing;
  offers.AppendMissing(/*single_nodes=*/!fuse, &missing);
  PLAIT_RETURN_IF_ERROR(predictions.budgeted.ResolveAll(missing));
  CoveredGraph covered;
  const ScheduleDevice schedule = ScheduleDeviceOf(device);
  PLAIT_ASSIGN_OR_RETURN(
      covered.cover,
      FindCover(graph, offers.Table(),
                {.streams = streams, .launch_gap_us = schedule.overheads.launch_gap_us}));
  for (const CoverStep& step : covered.cover.steps) {
    const Kernel& kernel = step.group.part.kernel;
    const ProfileOrigin origin = {device.fingerprint, catalog->Version(kernel.family)};
    PLAIT_ASSIGN_OR_RETURN(
        const LoneKernel lone,
        LoneKernelOf(kernel.nodes.empty()
                         ? ReorderProfileKey(graph.type(step.inputs[0].tensor), kernel, origin)
                         : KernelProfileKey(graph, kernel, origin)));
    const std::optional<DescribedKernel> described_kernel = profiler.Describe(lone);
    PLAIT_CHECK(described_kernel.has_value());
    const double alone_us = PriceOn(described, *described_kernel, detail).latency_us_median;
    covered.ratios.push_back(alone_us > 0 ? step.group.part.latency_us / alone_us : 0);
    covered.kernels.push_back(*described_kernel);
  }
  return covered;
}

absl::StatusOr<std::vector<Plan>> PlansOnDescribed(const Graph& graph,
                                                   const DescribedDevice& described) {
  const DeviceDescription description = DescriptionOf(described);
  PLAIT_ASSIGN_OR_RETURN(const std::unique_ptr<KernelCatalog> catalog, CatalogFor(description));
  DescribedProfiler profiler(described, PredictionDetail::kBlocks, catalog.get());
  Predictions predictions(profiler);
  const SearchDevice device = {description, *catalog, predictions.cache,
                               ScheduleDeviceOf(description)};
  const PlanBinding binding = {description.fingerprint, "described", description.threads};
  PLAIT_ASSIGN_OR_RETURN(PlannedGraph baseline,
                         PlanBaseline(graph, device, binding, predictions.budgeted));
  PLAIT_ASSIGN_OR_RETURN(std::vector<PlannedGraph> fused,
                         PlanFused(graph, device, binding, kPlaitPolicy, predictions.budgeted));
  std::vector<Plan> plans = {std::move(baseline.plan)};
  for (PlannedGraph& planned : fused) plans.push_back(std::move(planned.plan));
  return plans;
}

ScheduleProblem ProblemOn(const CoveredGraph& covered, const DescribedDevice& device,
                          PredictionDetail detail) {
  Cover cover = covered.cover;
  for (size_t i = 0; i < cover.steps.size(); ++i) {
    KernelChoice& choice = cover.steps[i].group.part;
    const Profile profile = PriceOn(device, covered.kernels[i], detail);
    choice.latency_us = covered.ratios[i] * profile.latency_us_median;
    choice.bytes = profile.bytes;
    choice.compute_share = profile.compute_share;
    cover.steps[i].group.whole = choice;
  }
  return MakeScheduleProblem(cover, ScheduleDeviceOf(DescriptionOf(device)));
}

}  // namespace plait
