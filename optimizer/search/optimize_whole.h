#pragma once

#include "optimizer/search/optimize.h"

namespace plait {

// Optimize for a graph without opaque nodes, within a budget that may be shared with other graphs:
// the islands of one model draw on the same one, in their order. Whatever the budget says, the
// baseline is measured and something is verified, so that there is always a result.
// Errors: as Optimize.
absl::StatusOr<SearchResult> OptimizeWhole(const Graph& graph, const SearchOptions& options,
                                           const SearchContext& context,
                                           BudgetedProfiles& profiles);

}  // namespace plait
