#pragma once

#include "optimizer/search/optimize.h"

namespace plait {

// Optimize for a graph without opaque nodes, within a budget that may be shared with other graphs.
// Errors: as Optimize.
absl::StatusOr<SearchResult> OptimizeWhole(const Graph& graph, const SearchOptions& options,
                                           const SearchContext& context,
                                           BudgetedProfiles& profiles);

}  // namespace plait
