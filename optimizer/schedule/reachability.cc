#include "optimizer/schedule/reachability.h"

#include <algorithm>

// Launches 0 to 4 with the predecessors {}, {0}, {0}, {0,1,2} and {0,3}. The ancestors of 3 are 0,
// 1 and 2, a row of bits that is the union of its predecessors' rows and the predecessors
// themselves. In {0,1,2} the 0 is implied by 1, so the reduced predecessors of 3 are {1,2}, those
// of 4 are {3}. Launches 0, 3 and 4 come before or after every other one: they are the bottlenecks,
// and {1,2} between them is the body of a fork. N*N/8 bytes; O(E * N/64) to build for E edges.
// Bottlenecks are found without the bits, in O(N + E).

namespace plait {

Reachability::Reachability(const std::vector<std::vector<int>>& predecessors)
    : predecessors_(predecessors),
      ancestors_(predecessors.size(), std::vector<uint64_t>((predecessors.size() + 63) / 64, 0)) {
  for (size_t launch = 0; launch < predecessors.size(); ++launch) {
    std::vector<uint64_t>& bits = ancestors_[launch];
    for (const int predecessor : predecessors[launch]) {
      const std::vector<uint64_t>& other = ancestors_[predecessor];
      for (size_t word = 0; word < bits.size(); ++word) bits[word] |= other[word];
      bits[predecessor / 64] |= uint64_t{1} << (predecessor % 64);
    }
  }
}

std::vector<int> Reachability::ReducedPredecessors(int launch) const {
  const std::vector<int>& direct = predecessors_[launch];
  std::vector<int> reduced;
  for (const int predecessor : direct) {
    const bool implied = std::any_of(direct.begin(), direct.end(), [&](int other) {
      return other != predecessor && Reaches(predecessor, other);
    });
    if (!implied) reduced.push_back(predecessor);
  }
  std::sort(reduced.begin(), reduced.end());
  reduced.erase(std::unique(reduced.begin(), reduced.end()), reduced.end());
  return reduced;
}

// A launch comes before all later ones when each of those has a predecessor that is the launch or
// stands behind it: by induction along the order, that predecessor is the launch or comes after it.
// Likewise it comes after all earlier ones when each of those has such a successor before it.
std::vector<int> Bottlenecks(const std::vector<std::vector<int>>& predecessors) {
  const int count = static_cast<int>(predecessors.size());
  std::vector<int> first_successor(count, count);
  std::vector<int> last_predecessor(count, -1);
  for (int launch = 0; launch < count; ++launch) {
    for (const int predecessor : predecessors[launch]) {
      first_successor[predecessor] = std::min(first_successor[predecessor], launch);
      last_predecessor[launch] = std::max(last_predecessor[launch], predecessor);
    }
  }
  std::vector<bool> comes_before_all(count);
  int least = count;  // of the last predecessors of all later launches
  for (int launch = count - 1; launch >= 0; --launch) {
    comes_before_all[launch] = least >= launch;
    least = std::min(least, last_predecessor[launch]);
  }
  std::vector<int> bottlenecks;
  int greatest = -1;  // of the first successors of all earlier launches
  for (int launch = 0; launch < count; ++launch) {
    if (comes_before_all[launch] && greatest <= launch) bottlenecks.push_back(launch);
    greatest = std::max(greatest, first_successor[launch]);
  }
  return bottlenecks;
}

}  // namespace plait
