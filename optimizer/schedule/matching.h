#pragma once

#include <vector>

namespace plait {

// A maximum matching of a bipartite graph by augmenting paths (Kuhn), O(vertices * edges).
// neighbours[left] lists right vertices below `right_count`. Returns the partner of each left
// vertex, -1 where it has none; the same for equal arguments.
std::vector<int> MaximumMatching(const std::vector<std::vector<int>>& neighbours, int right_count);

}  // namespace plait
