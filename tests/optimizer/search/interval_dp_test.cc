#include "optimizer/search/interval_dp.h"

#include <algorithm>
#include <limits>
#include <map>
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

// The worked example of interval_dp.cc; r is rule 7.
const std::vector<SolvedInterval> kThreeLeaves = {
    {{0, 1}, 0}, {{1, 2}, 1}, {{2, 3}, 2}, {{0, 2}, 3}, {{1, 3}, 4}};
const StructurePrices kThreeLeavesPrices = {{{5}}, {{6}}, {{4, {7}}, {7}}, {{9}}, {{8}}};

TEST(IntervalDpTest, ListsTheCheapestChainAndOthers) {
  EXPECT_EQ(ChainsText(ChooseIntervals(3, kThreeLeaves, kThreeLeavesPrices, 100)),
            "13 us: 3.0 2.0\n16 us: 3.0 2.1\n");
  EXPECT_EQ(ChainsText(ChooseIntervals(3, kThreeLeaves, kThreeLeavesPrices, 1)),
            "13 us: 3.0 2.0\n");
}

TEST(IntervalDpTest, PrefersFewerLinksAmongEquals) {
  EXPECT_EQ(ChainsText(ChooseIntervals(2, {{{0, 1}, 0}, {{1, 2}, 1}, {{0, 2}, 2}},
                                       {{{1}}, {{1}}, {{2}}}, 1)),
            "2 us: 2.0\n");
}

// Two kinds of leaves, and rules 1 and 2 that helped both. Without rule 1 everything changes that
// it had a part in; then come single structures.
TEST(IntervalDpTest, DoesWithoutEachRuleEverywhere) {
  const std::vector<SolvedInterval> intervals = {{{0, 1}, 0}, {{1, 2}, 1}, {{2, 3}, 0}};
  const StructurePrices prices = {{{5, {1}}, {6, {2}}, {9}}, {{10, {1, 2}}, {12, {1}}, {16}}};
  EXPECT_EQ(ChainsText(ChooseIntervals(3, intervals, prices, 100)),
            "20 us: 0.0 1.0 2.0\n"
            "22 us: 0.0 1.1 2.0\n"    // without rule 2
            "28 us: 0.1 1.2 2.1\n"    // without rule 1
            "26 us: 0.0 1.2 2.0\n");  // the second leaf as it was; the others cost 22 and 28
}

// Without the rule the union is not worth it any more.
TEST(IntervalDpTest, CoversAnewWithoutARule) {
  const std::vector<SolvedInterval> intervals = {
      {{0, 1}, 0}, {{1, 2}, 0}, {{2, 3}, 0}, {{0, 2}, 1}};
  EXPECT_EQ(ChainsText(ChooseIntervals(3, intervals, {{{4}}, {{6, {3}}, {9}}}, 100)),
            "10 us: 3.0 2.0\n12 us: 0.0 1.0 2.0\n13 us: 3.1 2.0\n");
}

TEST(IntervalDpTest, EqualIntervalsTakeEqualVariants) {
  const std::vector<SolvedInterval> intervals = {
      {{0, 1}, 0}, {{1, 2}, 0}, {{2, 3}, 0}, {{3, 4}, 1}};
  EXPECT_EQ(ChainsText(ChooseIntervals(4, intervals, {{{5}, {6}, {8}}, {{7}, {7.5}}}, 100)),
            "22 us: 0.0 1.0 2.0 3.0\n22.5 us: 0.0 1.0 2.0 3.1\n25 us: 0.1 1.1 2.1 3.0\n"
            "31 us: 0.2 1.2 2.2 3.0\n");
}

// The second leaf takes 10 of 110 us: no clock would tell its variants apart.
TEST(IntervalDpTest, LeavesOutWhatCouldNotBeMeasured) {
  EXPECT_EQ(ChainsText(ChooseIntervals(2, {{{0, 1}, 0}, {{1, 2}, 1}},
                                       {{{100}, {120}}, {{10, {5}}, {11}}}, 100)),
            "110 us: 0.0 1.0\n130 us: 0.1 1.0\n");
}

TEST(IntervalDpTest, WithoutACostThereIsOneChain) {
  const double unknown = std::numeric_limits<double>::infinity();
  EXPECT_EQ(
      ChainsText(ChooseIntervals(2, {{{0, 1}, 0}, {{1, 2}, 1}}, {{{unknown}}, {{1}, {2}}}, 100)),
      "inf us: 0.0 1.0\n");
}

TEST(IntervalDpTest, NothingNeedsNoInterval) {
  EXPECT_EQ(ChainsText(ChooseIntervals(0, {}, {}, 3)), "0 us:\n");
}

double BruteForceChainUs(int leaf, int leaf_count, const std::vector<SolvedInterval>& intervals,
                         const StructurePrices& prices) {
  if (leaf == leaf_count) return 0;
  double best_us = std::numeric_limits<double>::infinity();
  for (const SolvedInterval& solved : intervals) {
    if (solved.interval.first != leaf) continue;
    best_us = std::min(best_us,
                       prices[solved.structure][0].cost_us +
                           BruteForceChainUs(solved.interval.end, leaf_count, intervals, prices));
  }
  return best_us;
}

TEST(IntervalDpTest, FindsTheCheapestChainAndOtherOnes) {
  for (uint64_t seed = 0; seed < 30; ++seed) {
    Random random(seed);
    // Leaves and unions of three structures each, by their length.
    StructurePrices prices;
    for (int leaves = 1; leaves <= 3; ++leaves) {
      for (int structure = 0; structure < 3; ++structure) {
        const double us = leaves * random.Uniform(5, 10);
        prices.push_back({{us, {static_cast<int>(random.Integer(0, 2))}}, {us + 1, {}}});
      }
    }
    std::vector<SolvedInterval> intervals;
    for (int first = 0; first < 6; ++first) {
      for (int end = first + 1; end <= std::min(6, first + 3); ++end) {
        intervals.push_back(
            {{first, end}, static_cast<int>(3 * (end - first - 1) + random.Integer(0, 2))});
      }
    }
    const std::vector<IntervalChain> chains = ChooseIntervals(6, intervals, prices, 5);
    ASSERT_GT(chains.size(), 1u);
    EXPECT_NEAR(chains[0].cost_us, BruteForceChainUs(0, 6, intervals, prices), 1e-9)
        << "seed " << seed;
    for (const IntervalChain& chain : chains) {
      double cost_us = 0;
      std::map<int, int> variant_of;
      for (const IntervalChain::Link& link : chain.links) {
        const int structure = intervals[link.interval].structure;
        EXPECT_EQ(variant_of.emplace(structure, link.variant).first->second, link.variant);
        cost_us += prices[structure][link.variant].cost_us;
      }
      EXPECT_NEAR(chain.cost_us, cost_us, 1e-9);
    }
  }
}

}  // namespace
}  // namespace plait
