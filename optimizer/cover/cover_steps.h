#pragma once

#include <vector>

#include "optimizer/cover/cover.h"

namespace plait {

// Turns a choice of groups into launches: adds the reorders between groups that disagree about a
// tensor's format, one per tensor and format, and sorts everything so that producers come first
// and, among independent steps, the one whose first node comes first.
// `groups` are indices into the table, in any order. Prices are added up anew, so that the sum is
// that of the steps. Crashes when a reorder is missing that the search must have paid for.
// REQUIRES: the groups run every node once, and no group waits for itself.
Cover MakeCover(const Graph& graph, const KernelTable& table, const CoverOptions& options,
                const std::vector<int>& groups);

}  // namespace plait
