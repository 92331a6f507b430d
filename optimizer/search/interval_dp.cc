#include "optimizer/search/interval_dp.h"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "optimizer/search/region_cost.h"

// F[j] is the cheapest chain that covers the first j leaves; F[0] is the empty chain. With three
// leaves and the intervals, each of a structure of its own,
//
//   [0,1) 5 us   [1,2) 6 us   [2,3) 4 us by rule r, or 7 us   [0,2) 9 us   [1,3) 8 us
//
// F[1] is 5, F[2] is 9 by [0,2), and F[3] is 13 by [0,2) [2,3). Without rule r it is 13 by [0,1)
// [1,3), which costs the same and is left out; with the other variant of [2,3) it is 16.
// (AutoGraph, AAAI 2023, draws the merging of parts in figure 4 and leaves its dynamic program to
// the appendix; this is ours.) One program of O(I) for I intervals, and one more for each rule.

namespace plait {
namespace {

// A tenth: where profiles are wrong by a fifth, the whole changes by 2 %, which the medians of a
// few dozen runs can tell apart.
constexpr double kShareMin = 0.1;
constexpr int kNoRule = -1;
constexpr int kNoVariant = -1;

class ChainSearch {
 public:
  ChainSearch(int leaf_count, const std::vector<SolvedInterval>& intervals,
              const StructurePrices& prices)
      : leaf_count_(leaf_count),
        intervals_(intervals),
        prices_(prices),
        intervals_to_(leaf_count + 1) {
    for (size_t index = 0; index < intervals.size(); ++index) {
      intervals_to_[intervals[index].interval.end].push_back(static_cast<int>(index));
    }
  }

  std::vector<IntervalChain> Run(int chains_max) const {
    const std::optional<IntervalChain> cheapest = Cheapest(kNoRule);
    if (!cheapest.has_value()) return {};
    std::vector<IntervalChain> chains = {*cheapest};
    Append(WithoutEachRule(*cheapest), chains);
    Append(WithOtherVariants(*cheapest), chains);
    if (static_cast<int>(chains.size()) > chains_max) chains.resize(chains_max);
    return chains;
  }

 private:
  // The cheapest way to cover the leaves up to some place, by its last link.
  struct Place {
    double cost_us = std::numeric_limits<double>::infinity();
    int links = 0;
    IntervalChain::Link last{-1, kNoVariant};  // interval -1: nothing gets here
  };

  const VariantPrice& PriceOf(const IntervalChain::Link& link) const {
    return prices_[intervals_[link.interval].structure][link.variant];
  }

  bool Uses(const IntervalChain::Link& link, int rule) const {
    const std::vector<int>& rules = PriceOf(link).rules;
    return std::binary_search(rules.begin(), rules.end(), rule);
  }

  // The cheapest chain of variants that the rule has no part in; nullopt when there is none.
  std::optional<IntervalChain> Cheapest(int without_rule) const {
    std::vector<Place> places(leaf_count_ + 1);
    places[0].cost_us = 0;
    for (int end = 1; end <= leaf_count_; ++end) {
      for (const int index : intervals_to_[end]) {
        IntervalChain::Link link{index, 0};
        const auto& [interval, structure] = intervals_[index];
        const int variants = static_cast<int>(prices_[structure].size());
        while (link.variant < variants && Uses(link, without_rule)) ++link.variant;
        const Place& before = places[interval.first];
        const bool reached = interval.first == 0 || before.links > 0;
        if (!reached || link.variant == variants) continue;
        const Place next{before.cost_us + PriceOf(link).cost_us, before.links + 1, link};
        if (places[end].links == 0 ||
            std::tie(next.cost_us, next.links) < std::tie(places[end].cost_us, places[end].links)) {
          places[end] = next;
        }
      }
    }
    if (leaf_count_ > 0 && places[leaf_count_].links == 0) return std::nullopt;
    IntervalChain chain;
    chain.cost_us = places[leaf_count_].cost_us;
    for (int end = leaf_count_; end > 0;
         end = intervals_[chain.links.back().interval].interval.first) {
      chain.links.push_back(places[end].last);
    }
    std::reverse(chain.links.begin(), chain.links.end());
    return chain;
  }

  // Whether a part of the chain takes long enough to be told apart. Never where costs are unknown.
  static bool Matters(double part_us, const IntervalChain& chain) {
    return part_us < std::numeric_limits<double>::infinity() &&
           part_us >= kShareMin * chain.cost_us;
  }

  std::vector<IntervalChain> WithoutEachRule(const IntervalChain& cheapest) const {
    std::map<int, double> time_us;  // of what each rule had a part in
    for (const IntervalChain::Link& link : cheapest.links) {
      for (const int rule : PriceOf(link).rules) time_us[rule] += PriceOf(link).cost_us;
    }
    std::vector<IntervalChain> chains;
    for (const auto& [rule, us] : time_us) {
      std::optional<IntervalChain> chain;
      if (Matters(us, cheapest)) chain = Cheapest(rule);
      if (chain.has_value()) chains.push_back(*std::move(chain));
    }
    return chains;
  }

  std::vector<IntervalChain> WithOtherVariants(const IntervalChain& cheapest) const {
    std::map<int, double> time_us;  // of each structure
    for (const IntervalChain::Link& link : cheapest.links) {
      time_us[intervals_[link.interval].structure] += PriceOf(link).cost_us;
    }
    std::vector<IntervalChain> chains;
    for (const auto& [structure, us] : time_us) {
      if (!Matters(us, cheapest)) continue;
      for (size_t variant = 1; variant < prices_[structure].size(); ++variant) {
        IntervalChain chain = cheapest;
        for (IntervalChain::Link& link : chain.links) {
          if (intervals_[link.interval].structure != structure) continue;
          chain.cost_us -= PriceOf(link).cost_us;
          link.variant = static_cast<int>(variant);
          chain.cost_us += PriceOf(link).cost_us;
        }
        chains.push_back(std::move(chain));
      }
    }
    return chains;
  }

  // Appends the new ones, cheapest first, but none that costs what one of `chains` costs.
  static void Append(std::vector<IntervalChain> found, std::vector<IntervalChain>& chains) {
    std::stable_sort(
        found.begin(), found.end(),
        [](const IntervalChain& a, const IntervalChain& b) { return a.cost_us < b.cost_us; });
    for (IntervalChain& chain : found) {
      const bool known = std::any_of(chains.begin(), chains.end(), [&](const IntervalChain& other) {
        return CostTheSame(other.cost_us, chain.cost_us);
      });
      if (!known) chains.push_back(std::move(chain));
    }
  }

  const int leaf_count_;
  const std::vector<SolvedInterval>& intervals_;
  const StructurePrices& prices_;
  std::vector<std::vector<int>> intervals_to_;  // per place: those that end there
};

}  // namespace

std::vector<IntervalChain> ChooseIntervals(int leaf_count,
                                           const std::vector<SolvedInterval>& intervals,
                                           const StructurePrices& prices, int chains_max) {
  return ChainSearch(leaf_count, intervals, prices).Run(chains_max);
}

}  // namespace plait
