#include "optimizer/search/interval_dp.h"

#include <algorithm>
#include <utility>

// F[j] is the list of the cheapest chains that cover the first j leaves; F[0] holds the empty
// chain. With three leaves and the intervals
//
//   [0,1) 5 us   [1,2) 6 us   [2,3) 4 us, or 7 us in a second variant   [0,2) 9 us   [1,3) 8 us
//
// F[1] = {5}, F[2] = {9 by [0,2), 11 by [0,1) [1,2)} and F[3] = {13 by [0,2) [2,3), 13 by [0,1)
// [1,3), 15, 16, 18}. Keeping k chains per place is exact: a chain among the k cheapest of F[j]
// extends one among the k cheapest of its F[i]. (AutoGraph, AAAI 2023, draws the merging of parts
// in figure 4 and leaves its dynamic program to the appendix; this is ours.) Sorting dominates: O(I
// k v log(I k v)) for I intervals with v variants each, over all places.

namespace plait {

std::vector<IntervalChain> ChooseIntervals(int leaf_count,
                                           const std::vector<SolvedInterval>& intervals,
                                           int chains_max) {
  // best[j]: the cheapest chains that cover the first j leaves.
  std::vector<std::vector<IntervalChain>> best(leaf_count + 1);
  best[0].emplace_back();
  for (int end = 1; end <= leaf_count; ++end) {
    std::vector<IntervalChain>& chains = best[end];
    for (size_t index = 0; index < intervals.size(); ++index) {
      const SolvedInterval& solved = intervals[index];
      if (solved.interval.end != end) continue;
      for (const IntervalChain& prefix : best[solved.interval.first]) {
        for (size_t variant = 0; variant < solved.costs_us.size(); ++variant) {
          IntervalChain chain = prefix;
          chain.links.push_back({static_cast<int>(index), static_cast<int>(variant)});
          chain.cost_us += solved.costs_us[variant];
          chains.push_back(std::move(chain));
        }
      }
    }
    std::stable_sort(chains.begin(), chains.end(),
                     [](const IntervalChain& a, const IntervalChain& b) {
                       return std::make_pair(a.cost_us, a.links.size()) <
                              std::make_pair(b.cost_us, b.links.size());
                     });
    if (static_cast<int>(chains.size()) > chains_max) chains.resize(chains_max);
  }
  return best[leaf_count];
}

}  // namespace plait
