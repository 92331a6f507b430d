#pragma once

#include <vector>

namespace plait {

// A maximum matching of a bipartite graph by augmenting paths (Kuhn 1955), O(vertices * edges).
// neighbours[left] lists right vertices below `right_count`. Returns the partner of each left
// vertex, -1 where it has none; the same for equal arguments. With "may be followed by" as the
// edges, the partners are the links of a minimum path cover (Fulkerson 1956).
std::vector<int> MaximumMatching(const std::vector<std::vector<int>>& neighbours, int right_count);

}  // namespace plait
