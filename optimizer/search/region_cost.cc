#include "optimizer/search/region_cost.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/status/statusor.h"
#include "optimizer/cost/critical_path_cost.h"
#include "optimizer/cover/cover.h"
#include "optimizer/cover/cover_steps.h"

namespace plait {
namespace {

// 8: regions are small, and a cover that is a few percent off ranks rewrites as well as the best
// one.
constexpr int kRegionCoverStates = 8;

std::optional<PathCost> PathsOfCover(const Graph& graph, const CoverTable& table,
                                     const SearchDevice& device, CoverWidth width) {
  const CoverOptions options = {
      .width = width, .free_boundary = true, .states_max = kRegionCoverStates};
  const absl::StatusOr<std::vector<int>> groups = ChooseGroups(graph, table, options);
  if (!groups.ok()) return std::nullopt;
  std::vector<CostedStep> steps;
  for (CoverLaunch& launch : LaunchesOf(graph, table, options, *groups)) {
    steps.push_back({launch.latency_us + device.schedule.overheads.launch_gap_us,
                     std::move(launch.predecessors)});
  }
  return MeasurePaths(steps);
}

// Whether both widths choose the same cover: nothing gains from taking all of the device, as on a
// GPU, where every kernel leaves room.
bool WidthsAreAlike(const CoverTable& table) {
  const auto is_alike = [](const WidthTimes& times) { return times.part_us <= times.whole_us; };
  return std::all_of(table.groups.begin(), table.groups.end(),
                     [&](const CoverGroup& group) {
                       return is_alike(group.latency) && is_alike(group.cost);
                     }) &&
         std::all_of(table.reorders.begin(), table.reorders.end(), is_alike);
}

}  // namespace

KernelTableOptions RegionTableOptions(const SearchDevice& device) {
  return {.device = device.description,
          .catalog = device.catalog,
          .profiles = device.profiles,
          .fuse = true,
          .admissions = device.admissions,
          .us_per_byte = device.us_per_byte};
}

std::optional<double> TableCostUs(const Graph& graph, const CoverTable& table,
                                  const SearchDevice& device, CostModel model) {
  const std::optional<PathCost> in_line = PathsOfCover(graph, table, device, CoverWidth::kFastest);
  if (!in_line.has_value()) return std::nullopt;
  const int width = std::max(1, device.schedule.streams_max);
  if (model == CostModel::kSum || width == 1) return in_line->total_us;
  const std::optional<PathCost> beside =
      WidthsAreAlike(table) ? in_line : PathsOfCover(graph, table, device, CoverWidth::kPart);
  if (!beside.has_value()) return in_line->total_us;
  return std::min(in_line->total_us, beside->ParallelBoundUs(width));
}

std::optional<double> RegionCostUs(const Graph& graph, const SearchDevice& device, CostModel model,
                                   std::vector<ProfileQuery>* missing) {
  const size_t missing_before = missing->size();
  const KernelOffers offers(graph, RegionTableOptions(device));
  offers.AppendMissing(/*single_nodes=*/false, missing);
  if (missing->size() > missing_before) return std::nullopt;
  const KernelTable table = offers.Table();
  return TableCostUs(graph, CoverTableOf(table), device, model);
}

std::optional<double> KnownRegionCostUs(const Graph& graph, const SearchDevice& device,
                                        CostModel model) {
  const KernelTable table = KernelOffers(graph, RegionTableOptions(device)).Table();
  return TableCostUs(graph, CoverTableOf(table), device, model);
}

bool CostTheSame(double a_us, double b_us) {
  // 1e-9: thousands of roundings of a double.
  return a_us == b_us || std::abs(a_us - b_us) <= 1e-9 * std::max(a_us, b_us);
}

}  // namespace plait
