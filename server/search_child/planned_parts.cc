#include "server/search_child/planned_parts.h"

namespace plait {

std::vector<PlannedPart> PartsOf(const SearchResult& result) {
  if (result.islands.empty()) return {{result.graph, result.plan}};
  std::vector<PlannedPart> parts;
  for (const PlannedIsland& island : result.islands) parts.push_back({island.graph, island.plan});
  return parts;
}

std::vector<PlannedPart> BaselinePartsOf(const Graph& graph, const SearchResult& result) {
  if (result.islands.empty()) return {{graph, result.baseline_plan}};
  std::vector<PlannedPart> parts;
  for (const PlannedIsland& island : result.islands) {
    parts.push_back({island.original, island.baseline_plan});
  }
  return parts;
}

}  // namespace plait
