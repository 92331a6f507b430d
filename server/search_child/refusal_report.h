#pragma once

#include "optimizer/search/optimize.h"
#include "plait/v1/report.pb.h"

namespace plait {

// Writes Report.refused: what the search of the first plan tried in vain; the first kRefusalsMax.
// Pure and thread-safe.
void SetRefused(const SearchResult& result, v1::Report* report);

}  // namespace plait
