#pragma once

#include <optional>
#include <vector>

#include "optimizer/cover/cover_table.h"
#include "optimizer/ir/graph.h"
#include "optimizer/search/search_device.h"

namespace plait {

// How long a graph, cut out of a larger one, takes on the device as far as kernels' profiles tell:
// the time of its best cover, launch gaps included. Under kCriticalPath it is the smaller of
// running the kernels one after the other, each at its faster width, and Graham's bound for running
// them side by side (C_E divided by the device's width, see PathCost). The boundary's formats are
// free. Returns nullopt when the graph cannot be covered, or when profiles are missing, which are
// then appended to `missing`. Only reads `device.profiles`, so it may be called from several
// threads while none of them resolves.
// In microseconds. A lower bound is not meant, nor an upper one: it ranks graphs that are equal.
std::optional<double> RegionCostUs(const Graph& graph, const SearchDevice& device, CostModel model,
                                   std::vector<ProfileQuery>* missing);

// The same with the profiles that there are: kernels without one are not used, as in a plan that is
// made when the budget has ended. Returns nullopt when the others cannot cover the graph.
std::optional<double> KnownRegionCostUs(const Graph& graph, const SearchDevice& device,
                                        CostModel model);

// The same of a graph whose kernels are known: nullopt when they cannot cover it.
std::optional<double> TableCostUs(const Graph& graph, const CoverTable& table,
                                  const SearchDevice& device, CostModel model);

// What the kernel tables of regions are made from.
KernelTableOptions RegionTableOptions(const SearchDevice& device);

// Whether two costs are sums of the same kernels, up to the order in which they were added. Medians
// of measured times do not agree otherwise: the graphs are one another's rearrangements, such as
// siblings merged in another order, and measuring one of them is enough.
bool CostTheSame(double a_us, double b_us);

}  // namespace plait
