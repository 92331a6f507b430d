#pragma once

#include <vector>

#include "optimizer/cover/cover_table.h"
#include "optimizer/ir/graph.h"

namespace plait {

// What a chosen cover is worth where its launches run side by side.
struct PathOptions {
  CoverWidth width = CoverWidth::kPart;
  double launch_gap_us = 0;  // in front of each launch
  int streams = 1;
};

// Exchanges pairs of a cover's groups, one of which reads what the other writes, for other pairs of
// the same nodes and formats, as long as that lowers the bound of the makespan
// (PathCost::ParallelBoundUs, on `streams` machines). A cover has the least sum, and of a sum of
// two convolutions it does not say which one adds: the one that does waits for the other.
// Returns the groups in the place of those that were given. Pure; equal arguments give equal
// groups. O(graph) for each pair on the longest path that it tries, and it tries no more after a
// second's work or two, by a count.
// REQUIRES: the groups run every node once, and no group waits for itself.
std::vector<int> ShortenPath(const Graph& graph, const CoverTable& table,
                             const PathOptions& options, std::vector<int> groups);

}  // namespace plait
