#pragma once

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "optimizer/cover/graph_kernels.h"
#include "optimizer/search/region_cost.h"

namespace plait {

// A graph that was priced, to price what rewrites make of it.
struct PricedGraph {
  PricedGraph(const Graph& graph, std::shared_ptr<const GraphKernels> kernels)
      : named(graph), kernels(std::move(kernels)) {}

  NamedGraph named;
  std::shared_ptr<const GraphKernels> kernels;  // nullptr: not known
};

// What RegionCostUs says of a graph, and what it was read from.
struct RegionPrice {
  std::optional<double> cost_us;
  std::shared_ptr<const GraphKernels> kernels;
};

// Prices the graphs of one region's search as RegionCostUs does, but asks the catalog only for the
// kernels of nodes around which something has changed: a rewrite changes a few, and everything
// else is the parent's. Not thread-safe.
class RegionPricer {
 public:
  // `device` must outlive it. `checks`: RegionCostUs is asked too, and the program ends where that
  // says something else.
  RegionPricer(const SearchDevice& device, CostModel model, bool checks);

  // `parent`: a graph that is much alike, or nullptr. Missing profiles as in RegionCostUs.
  RegionPrice PriceOf(const Graph& graph, const PricedGraph* parent,
                      std::vector<ProfileQuery>* missing);

 private:
  // nullopt when a profile is missing.
  std::optional<RegionPrice> PriceByParent(const Graph& graph, const PricedGraph* parent);

  const SearchDevice& device_;
  CostModel model_;
  bool checks_;
  ReorderTimes reorders_;
};

}  // namespace plait
