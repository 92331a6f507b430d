#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "optimizer/search/optimize.h"
#include "optimizer/search/region_search.h"
#include "optimizer/search/search_device.h"

namespace plait {

// What of a graph is searched by itself.
enum class Regions {
  kWholeGraph,
  kLeaves,  // the leaves of its partition
  kUnions,  // and the unions of neighbouring ones, among which a dynamic program chooses
};

// How far a graph may become another one.
enum class Rewriting {
  kNothing,     // only the baseline
  kNormalForm,  // by rules that always win
  kSearched,
};

// What sets the ways to search apart; see SearchOptions::search and policies.def.
struct SearchPolicy {
  absl::string_view name;
  Rewriting rewriting;
  CostModel cost_model;
  Regions regions;
  bool ranks_by_simulation;  // false: by the cost that the rewriting was guided by
  bool asks_generated;       // GeneratedRules() too, beside AllRules() or PortableRules()
};

// Errors: InvalidArgument naming the policies there are when `name` is none of them.
absl::StatusOr<SearchPolicy> FindSearchPolicy(absl::string_view name);

// How often a policy searches the best graph anew: TASO has no such loop.
int SearchRoundsMax(const SearchPolicy& policy);

// How a policy searches one graph: the first of these, and from the same start the others, for
// policies that let simulated plans decide. Where kernels wait for other streams neither Graham's
// bound nor a sum of bounds says which graph is the best: it is searched without unions of leaves
// and by the sum of its kernels' times as well. Where all is in line, or waits take no time, there
// is only the first. Empty where nothing is searched.
std::vector<RegionSearchOptions> SearchesOf(const SearchPolicy& policy,
                                            const SearchOptions& options,
                                            const ScheduleDevice& device);

}  // namespace plait
