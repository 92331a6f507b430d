#pragma once

#include "optimizer/search/optimize.h"
#include "plait/internal/search_child.pb.h"
#include "plait/v1/report.pb.h"
#include "server/search_child/choose_body.h"

namespace plait {

// Adds to the report what each runtime of the job needs for the original and for what is returned,
// plait's first where the job does not leave it out, and which of them is the fastest.
// REQUIRES: the report has all else. Pure and thread-safe.
void AddRuntimes(const internal::Start& start, const SearchResult& found,
                 const std::vector<RuntimeDecision>& decisions, v1::Report& report);

}  // namespace plait
