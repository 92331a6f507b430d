#include "optimizer/search/interval_dp.h"

#include <algorithm>
#include <limits>
#include <string>

#include <gtest/gtest.h>

#include "absl/strings/str_format.h"
#include "base/random.h"

namespace plait {
namespace {

// One chain per line: its cost, and its links as interval.variant.
std::string ChainsText(const std::vector<IntervalChain>& chains) {
  std::string text;
  for (const IntervalChain& chain : chains) {
    absl::StrAppendFormat(&text, "%.6g us:", chain.cost_us);
    for (const IntervalChain::Link& link : chain.links) {
      absl::StrAppendFormat(&text, " %d.%d", link.interval, link.variant);
    }
    text += "\n";
  }
  return text;
}

// The worked example of interval_dp.cc.
std::vector<SolvedInterval> ThreeLeaves() {
  return {{{0, 1}, {5}}, {{1, 2}, {6}}, {{2, 3}, {4, 7}}, {{0, 2}, {9}}, {{1, 3}, {8}}};
}

TEST(IntervalDpTest, ListsTheCheapestChains) {
  EXPECT_EQ(ChainsText(ChooseIntervals(3, ThreeLeaves(), 3)),
            "13 us: 3.0 2.0\n13 us: 0.0 4.0\n15 us: 0.0 1.0 2.0\n");
  EXPECT_EQ(ChainsText(ChooseIntervals(3, ThreeLeaves(), 1)), "13 us: 3.0 2.0\n");
  EXPECT_EQ(ChainsText(ChooseIntervals(3, ThreeLeaves(), 100)),
            "13 us: 3.0 2.0\n13 us: 0.0 4.0\n15 us: 0.0 1.0 2.0\n16 us: 3.0 2.1\n"
            "18 us: 0.0 1.0 2.1\n");
}

TEST(IntervalDpTest, PrefersFewerLinksAmongEquals) {
  EXPECT_EQ(ChainsText(ChooseIntervals(2, {{{0, 1}, {1}}, {{1, 2}, {1}}, {{0, 2}, {2}}}, 1)),
            "2 us: 2.0\n");
}

TEST(IntervalDpTest, NothingNeedsNoInterval) {
  EXPECT_EQ(ChainsText(ChooseIntervals(0, {}, 3)), "0 us:\n");
}

double BruteForceChainUs(int leaf, int leaf_count, const std::vector<SolvedInterval>& intervals) {
  if (leaf == leaf_count) return 0;
  double best_us = std::numeric_limits<double>::infinity();
  for (const SolvedInterval& solved : intervals) {
    if (solved.interval.first != leaf) continue;
    best_us = std::min(best_us, solved.costs_us[0] +
                                    BruteForceChainUs(solved.interval.end, leaf_count, intervals));
  }
  return best_us;
}

TEST(IntervalDpTest, FindsTheCheapestChainAndTheNextOnes) {
  for (uint64_t seed = 0; seed < 30; ++seed) {
    Random random(seed);
    std::vector<SolvedInterval> intervals;
    for (int first = 0; first < 6; ++first) {
      for (int end = first + 1; end <= std::min(6, first + 3); ++end) {
        const double us = (end - first) * random.Uniform(5, 10);
        intervals.push_back({{first, end}, {us, us + 1}});
      }
    }
    const std::vector<IntervalChain> chains = ChooseIntervals(6, intervals, 3);
    ASSERT_EQ(chains.size(), 3u);
    EXPECT_NEAR(chains[0].cost_us, BruteForceChainUs(0, 6, intervals), 1e-9) << "seed " << seed;
    EXPECT_LE(chains[0].cost_us, chains[1].cost_us);
    EXPECT_LE(chains[1].cost_us, chains[0].cost_us + 1 + 1e-9);
  }
}

}  // namespace
}  // namespace plait
