#pragma once

#include <optional>
#include <string>

#include "optimizer/search/optimize.h"

namespace plait {

// How long the plan takes that other devices make of a result's file when none inside fits them.
struct DefaultPlanTimes {
  double latency_us_median = 0;
  double ratio = 1;  // to the plan that was found: the median of paired rounds
};

// Measures it on the job's device, beside the plan that was found, in a few seconds. nullopt where
// the budget has none, where nothing was found that is faster than the original, and where it
// cannot run or be measured. What it depends on goes into the context's log, behind that of the
// search.
std::optional<DefaultPlanTimes> MeasureDefaultPlan(const SearchResult& found,
                                                   const SearchContext& context,
                                                   const std::string& engine_version);

}  // namespace plait
