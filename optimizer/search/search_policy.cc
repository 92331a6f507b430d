#include "optimizer/search/search_policy.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "optimizer/rules/laws/law_rules.h"

namespace plait {
namespace {

// 4: AutoGraph's loop (AAAI 2023, algorithm 1) ends earlier on every model seen; what costs time is
// bounded whatever the rules do.
constexpr int kSearchRoundsMax = 4;

constexpr SearchPolicy kSearchPolicies[] = {
#define PLAIT_SEARCH_POLICY(name, rewriting, cost_model, regions, ranks_by_simulation, \
                            asks_generated)                                            \
  {#name,                                                                              \
   Rewriting::rewriting,                                                               \
   CostModel::cost_model,                                                              \
   Regions::regions,                                                                   \
   ranks_by_simulation,                                                                \
   asks_generated},
#include "optimizer/search/policies.def"
#undef PLAIT_SEARCH_POLICY
};

// Rules that a test brings are asked alone.
RuleList WithGenerated(RuleList rules) {
  if (rules.data() == AllRules().data()) return EveryRule();
  if (rules.data() == PortableRules().data()) return PortableRulesAndGenerated();
  return rules;
}

// As the policy is published.
RegionSearchOptions RegionOptionsOf(const SearchPolicy& policy, const SearchOptions& options) {
  RegionSearchOptions search;
  search.backtracking = options.backtracking;
  search.backtracking.rules = policy.asks_generated ? WithGenerated(options.rules) : options.rules;
  search.backtracking.cost_model = policy.cost_model;
  search.partition = options.partition;
  // No union is that small.
  if (policy.regions == Regions::kLeaves) search.partition.interval_nodes_max = 0;
  search.whole_graph = policy.regions == Regions::kWholeGraph;
  search.threads = options.threads;
  return search;
}

}  // namespace

absl::StatusOr<SearchPolicy> FindSearchPolicy(absl::string_view name) {
  std::string names;
  for (const SearchPolicy& policy : kSearchPolicies) {
    if (policy.name == name) return policy;
    absl::StrAppend(&names, names.empty() ? "" : ", ", policy.name);
  }
  return absl::InvalidArgumentError(
      absl::StrCat("search policy \"", name, "\" does not exist: use one of ", names));
}

int SearchRoundsMax(const SearchPolicy& policy) {
  return policy.regions == Regions::kWholeGraph ? 1 : kSearchRoundsMax;
}

std::vector<RegionSearchOptions> SearchesOf(const SearchPolicy& policy,
                                            const SearchOptions& options,
                                            const ScheduleDevice& device) {
  if (policy.rewriting != Rewriting::kSearched) return {};
  const RegionSearchOptions own = RegionOptionsOf(policy, options);
  std::vector<RegionSearchOptions> searches = {own};
  const bool has_waits = device.streams_max > 1 && device.overheads.cross_stream_us > 0;
  if (!policy.ranks_by_simulation || !has_waits) return searches;
  searches.push_back(own);
  searches.back().partition.interval_nodes_max = 0;
  searches.push_back(own);
  searches.back().backtracking.cost_model = CostModel::kSum;
  return searches;
}

}  // namespace plait
