#pragma once

#include <vector>

#include "optimizer/search/optimize.h"

namespace plait {

// A graph and how it runs: the whole of a model, or an island of it. What it refers to must outlive
// it.
struct PlannedPart {
  const Graph& graph;
  const Plan& plan;
};

// Of what a search returned, and of the original (`graph`): one for each island, or the whole.
// Pure and thread-safe.
std::vector<PlannedPart> PartsOf(const SearchResult& result);
std::vector<PlannedPart> BaselinePartsOf(const Graph& graph, const SearchResult& result);

}  // namespace plait
