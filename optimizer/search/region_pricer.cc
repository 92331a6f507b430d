#include "optimizer/search/region_pricer.h"

#include "base/status_macros.h"

namespace plait {

RegionPricer::RegionPricer(const SearchDevice& device, CostModel model, bool checks)
    : device_(device), model_(model), checks_(checks), reorders_(RegionTableOptions(device)) {}

RegionPrice RegionPricer::PriceOf(const Graph& graph, const PricedGraph* parent,
                                  std::vector<ProfileQuery>* missing) {
  std::optional<RegionPrice> price = PriceByParent(graph, parent);
  // What is missing is named by keys of whole kernels, which nothing is taken over for.
  if (!price.has_value()) return {RegionCostUs(graph, device_, model_, missing), nullptr};
  if (checks_) PLAIT_CHECK(RegionCostUs(graph, device_, model_, missing) == price->cost_us);
  return *std::move(price);
}

std::optional<RegionPrice> RegionPricer::PriceByParent(const Graph& graph,
                                                       const PricedGraph* parent) {
  const KernelTableOptions options = RegionTableOptions(device_);
  const bool has_parent = parent != nullptr && parent->kernels != nullptr;
  RegionPrice price;
  price.kernels = GraphKernels::Of(graph, has_parent ? &parent->named : nullptr,
                                   has_parent ? parent->kernels.get() : nullptr, options);
  if (price.kernels == nullptr) return std::nullopt;
  const std::optional<OwnedCoverTable> table = price.kernels->Table(graph, options, reorders_);
  if (!table.has_value()) return std::nullopt;
  price.cost_us = TableCostUs(graph, table->table, device_, model_);
  return price;
}

}  // namespace plait
