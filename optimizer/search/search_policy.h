#pragma once

#include <optional>

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

// How a policy searches one graph.
RegionSearchOptions RegionOptionsOf(const SearchPolicy& policy, const SearchOptions& options);

// How it searches that graph once more, by the sum of its kernels' times; nullopt where it does
// not. Graham's bound knows no waits between streams: where these take time, what pays in line may
// be the best with streams as well. Simulated plans tell, so that is for policies that ask them.
std::optional<RegionSearchOptions> InLineOptionsOf(const SearchPolicy& policy,
                                                   const SearchOptions& options,
                                                   const ScheduleDevice& device);

}  // namespace plait
