#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "optimizer/search/backtracking.h"
#include "optimizer/search/budgeted_profiles.h"
#include "optimizer/search/partition.h"
#include "optimizer/search/rewrite_recipe.h"

namespace plait {

// What the search of one graph is made of; see the parts for their numbers.
struct RegionSearchOptions {
  BacktrackingOptions backtracking;
  PartitionOptions partition;
  bool whole_graph = false;  // one region that is the whole graph, as TASO searches
  int graphs_max = 4;        // graphs returned
  int threads = 1;           // processor threads; the result does not depend on them
};

// A graph equal to the one searched.
// Its counts add up what was applied in all of its regions.
struct RewrittenGraph {
  Graph graph;
  RuleCounts counts;
  RewriteRecipe recipe;    // from the graph searched to this one, where all rules were searched
  double estimate_us = 0;  // sum of its regions' costs; a whole plan may be faster
};

// What the search of one graph found. The graph itself is among `graphs` only when nothing is
// cheaper.
struct RegionSearchResult {
  // The cheapest estimate, then others in the order of ChooseIntervals.
  std::vector<RewrittenGraph> graphs;
  int64_t candidates = 0;  // graphs priced
  int regions = 0;         // intervals of the partition
  int regions_solved = 0;  // after equal ones were solved once
  // Regions that stayed as they are because the steps found for an equal one do not apply to them.
  int regions_not_repeated = 0;
  std::string trace;  // one line per decision, for people and golden tests
};

// Searches of regions, by structure: those of one graph answer for the next, where options and
// prices are the same. They refer to the options and the device of the search that began them.
using SolvedRegions = absl::flat_hash_map<Fingerprint, std::shared_ptr<Backtracking>>;

// Cuts the graph into regions, searches each by backtracking, and puts the best variants together
// again by a dynamic program over intervals. Regions of the same structure (NasNet cells, BERT
// layers) are searched once and the found steps repeated; what is in `solved` is not searched
// again, and what was searched is added to it. Regions are searched step by step: in each, all of
// them go on in parallel until they miss profiles, and what they miss is measured leaf by leaf and
// then for the unions; so the result is the same for any number of threads. When the budget ends,
// what was found is priced by the profiles that there are, and the best counts; a region of which
// no price is known costs more than any other. `profiles` must be those of `device`.
// Blocks while profiles are measured.
// Errors: those of measuring; Internal for a wrong rule.
absl::StatusOr<RegionSearchResult> SearchRegions(const Graph& graph,
                                                 const RegionSearchOptions& options,
                                                 const SearchDevice& device,
                                                 BudgetedProfiles& profiles, SolvedRegions* solved);

}  // namespace plait
