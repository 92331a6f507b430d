#include "optimizer/search/region_cost.h"

#include <algorithm>
#include <cmath>

#include "absl/status/statusor.h"
#include "optimizer/cost/critical_path_cost.h"
#include "optimizer/cover/cover.h"

namespace plait {
namespace {

// 8: regions are small, and a cover that is a few percent off ranks rewrites as well as the best
// one.
constexpr int kRegionCoverStates = 8;

std::optional<PathCost> PathsOfCover(const Graph& graph, const KernelTable& table,
                                     const SearchDevice& device, CoverWidth width) {
  const absl::StatusOr<Cover> cover = FindCover(
      graph, table, {.width = width, .free_boundary = true, .states_max = kRegionCoverStates});
  if (!cover.ok()) return std::nullopt;
  std::vector<CostedStep> steps;
  for (const CoverStep& step : cover->steps) {
    const double latency_us = LatencyUs(step.group, width);
    steps.push_back({latency_us + device.schedule.overheads.launch_gap_us, step.predecessors});
  }
  return MeasurePaths(steps);
}

KernelTableOptions TableOptions(const SearchDevice& device) {
  return {.device = device.description,
          .catalog = device.catalog,
          .profiles = device.profiles,
          .fuse = true,
          .admissions = device.admissions,
          .us_per_byte = device.us_per_byte};
}

std::optional<double> CostOfTableUs(const Graph& graph, const KernelTable& table,
                                    const SearchDevice& device, CostModel model) {
  const std::optional<PathCost> in_line = PathsOfCover(graph, table, device, CoverWidth::kFastest);
  if (!in_line.has_value()) return std::nullopt;
  const int width = std::max(1, device.schedule.streams_max);
  if (model == CostModel::kSum || width == 1) return in_line->total_us;
  const std::optional<PathCost> beside = PathsOfCover(graph, table, device, CoverWidth::kPart);
  if (!beside.has_value()) return in_line->total_us;
  return std::min(in_line->total_us, beside->ParallelBoundUs(width));
}

}  // namespace

std::optional<double> RegionCostUs(const Graph& graph, const SearchDevice& device, CostModel model,
                                   std::vector<ProfileQuery>* missing) {
  const size_t missing_before = missing->size();
  const KernelOffers offers(graph, TableOptions(device));
  offers.AppendMissing(/*single_nodes=*/false, missing);
  if (missing->size() > missing_before) return std::nullopt;
  return CostOfTableUs(graph, offers.Table(), device, model);
}

std::optional<double> KnownRegionCostUs(const Graph& graph, const SearchDevice& device,
                                        CostModel model) {
  return CostOfTableUs(graph, KernelOffers(graph, TableOptions(device)).Table(), device, model);
}

bool CostTheSame(double a_us, double b_us) {
  // 1e-9: thousands of roundings of a double.
  return a_us == b_us || std::abs(a_us - b_us) <= 1e-9 * std::max(a_us, b_us);
}

}  // namespace plait
