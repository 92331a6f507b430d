#include "server/search_child/predicted_draws.h"

#include <memory>
#include <utility>

#include "gpu_worker/backends/catalogs.h"
#include "optimizer/cost/described_device.h"
#include "optimizer/plan/predicted_times.h"
#include "proto/wire/device.h"

namespace plait {
namespace {

constexpr uint64_t kDraws = 40;

}  // namespace

std::function<std::vector<double>(const PlanCandidate&)> PredictedDraws(
    const internal::Start& start) {
  if (!start.device().predicted()) return nullptr;
  const DescribedDevice* device = &kH200Device;
  if (!wire::IsSimulated(start.device())) {
    const absl::StatusOr<const DescribedDevice*> found = FindDescribedDevice(start.device().id());
    if (!found.ok()) return nullptr;
    device = *found;
  }
  absl::StatusOr<std::unique_ptr<KernelCatalog>> catalog = CatalogFor(DescriptionOf(*device));
  if (!catalog.ok()) return nullptr;
  return [device, catalog = std::shared_ptr<const KernelCatalog>(*std::move(catalog))](
             const PlanCandidate& candidate) {
    const PredictedTimes times(*device, *catalog, candidate.graph, candidate.plan);
    // What the search has predicted knows recorded times, too.
    const double nominal_us = times.RunUs(*device);
    const double scale = nominal_us > 0 ? candidate.predicted_us / nominal_us : 1;
    std::vector<double> draws_us;
    for (uint64_t seed = 1; seed <= kDraws; ++seed) {
      draws_us.push_back(scale * times.RunUs(DrawnDevice(*device, seed)));
    }
    return draws_us;
  };
}

}  // namespace plait
