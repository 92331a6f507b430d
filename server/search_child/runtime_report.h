#pragma once

#include <optional>
#include <vector>

#include "optimizer/search/optimize.h"
#include "plait/internal/search_child.pb.h"
#include "plait/v1/report.pb.h"
#include "server/search_child/runtime_decision.h"

namespace plait {

// What runtimes said of the body, and plait.InferenceSession of the whole (MeasureWhole).
struct RuntimeDecisions {
  const std::vector<RuntimeDecision>& of_body;
  const std::optional<RuntimeDecision>& of_whole;
};

// Adds to the report what each runtime of the job needs for the original and for what is returned,
// plait's first where the job does not leave it out, and which of them is the fastest. plait's is
// that of the whole where this was measured, and else that of plait's workers.
// REQUIRES: the report has all else. Pure and thread-safe.
void AddRuntimes(const internal::Start& start, const SearchResult& found,
                 const RuntimeDecisions& decisions, v1::Report& report);

}  // namespace plait
