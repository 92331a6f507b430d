#include "optimizer/search/region_search.h"

#include <cmath>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/random.h"
#include "tests/optimizer/search/job.h"

namespace plait {
namespace {

// A chain of unary operators, which the fake device fuses up to three at a time.
Graph ChainOf(const std::vector<std::string>& ops) {
  std::string text = "graph {\n  input %x0: float32[2,8]\n";
  for (size_t i = 0; i < ops.size(); ++i) {
    text += "  %x" + std::to_string(i + 1) + " = " + ops[i] + "(%x" + std::to_string(i) + ") {}\n";
  }
  return GraphOf(text + "  output %x" + std::to_string(ops.size()) + "\n}\n");
}

class RegionSearchTest : public testing::Test {
 protected:
  absl::StatusOr<RegionSearchResult> Search(const Graph& graph, PartitionOptions partition,
                                            int64_t steps, bool whole_graph = false) {
    ShortBudget budget(steps);
    BudgetedProfiles profiles(fake_.profiles, budget, fake_.log);
    RegionSearchOptions options;
    options.backtracking.rules = kRules;
    options.backtracking.checks_prices = true;
    options.partition = partition;
    options.whole_graph = whole_graph;
    SolvedRegions solved;
    absl::StatusOr<RegionSearchResult> result =
        SearchRegions(graph, options, fake_.device, profiles, &solved);
    exhausted_ = profiles.exhausted();
    return result;
  }

  FakeSearch fake_{1};
  bool exhausted_ = false;
};

constexpr PartitionOptions kLeavesAlone = {.leaf_nodes_max = 2, .interval_nodes_max = 2};
constexpr PartitionOptions kLeavesAndPairs = {.leaf_nodes_max = 2, .interval_nodes_max = 4};

// The leaves {Tanh, Softmax} and {Exp, Softmax} are solved. The kernel of a Softmax and an Exp in
// their union has no profile, and the budget has none to spend.
TEST_F(RegionSearchTest, AnUnpricedUnionDoesNotBeatItsSolvedLeaves) {
  const Graph graph = GraphOf(R"(graph {
    input %x: float32[2,8]
    %a = Tanh(%x) {}
    %b = Softmax(%a) {axis=1}
    %c = Exp(%b) {}
    %y = Softmax(%c) {axis=1}
    output %y
  })");
  const auto alone = Search(graph, kLeavesAlone, 1000);
  ASSERT_TRUE(alone.ok()) << alone.status();
  const auto both = Search(graph, kLeavesAndPairs, 0);
  ASSERT_TRUE(both.ok()) << both.status();
  EXPECT_TRUE(exhausted_);
  EXPECT_EQ(both->graphs.at(0).estimate_us, alone->graphs.at(0).estimate_us) << both->trace;
  EXPECT_EQ(both->graphs.at(0).graph.fingerprint(), alone->graphs.at(0).graph.fingerprint());
  EXPECT_EQ(both->graphs.at(0).counts, (RuleCounts{{"pair_to_neg", 1}, {"tanh_to_pair", 1}}));
}

// With kernels of single nodes alone the region costs their sum; nothing it could become is known.
TEST_F(RegionSearchTest, PricesByWhatIsKnownWhenTheBudgetEnds) {
  const Graph graph = ChainOf({"Tanh", "Exp"});
  std::vector<ProfileQuery> queries;
  KernelOffers(graph, {fake_.description, fake_.catalog, fake_.profiles})
      .AppendMissing(/*single_nodes=*/true, &queries);
  ASSERT_TRUE(fake_.profiles.Resolve(queries).ok());
  const auto found = Search(graph, kLeavesAlone, 0);
  ASSERT_TRUE(found.ok()) << found.status();
  ASSERT_EQ(found->graphs.size(), 1u);
  EXPECT_EQ(found->graphs[0].estimate_us, 20);
  EXPECT_EQ(found->candidates, 1);
}

TEST_F(RegionSearchTest, WhatNothingIsKnownOfCostsMoreThanAnything) {
  const auto found = Search(ChainOf({"Tanh", "Exp", "Sqrt"}), kLeavesAndPairs, 0);
  ASSERT_TRUE(found.ok()) << found.status();
  ASSERT_EQ(found->graphs.size(), 1u);
  EXPECT_TRUE(std::isinf(found->graphs[0].estimate_us));
}

// The first batches have 64 kernels. Those of the leaves are less, those of the unions many more.
TEST_F(RegionSearchTest, SpendsTheBudgetOnLeavesFirst) {
  const std::vector<std::string> names = {"Abs",  "Exp",  "Sqrt", "Sin",     "Cos",
                                          "Ceil", "Relu", "Log",  "Sigmoid", "Erf"};
  Random random(1);
  std::vector<std::string> ops;
  for (int i = 0; i < 60; ++i) ops.push_back(names[random.Integer(0, 9)]);
  const Graph graph = ChainOf(ops);
  ASSERT_TRUE(Search(graph, {.leaf_nodes_max = 2, .interval_nodes_max = 6}, 4).ok());
  EXPECT_TRUE(exhausted_);
  const auto leaves = Search(graph, kLeavesAlone, 0);
  ASSERT_TRUE(leaves.ok()) << leaves.status();
  EXPECT_FALSE(exhausted_);
}

TEST_F(RegionSearchTest, AsksTheBudgetThoughNoProfileIsMissing) {
  const Graph graph = ChainOf(std::vector<std::string>(40, "Tanh"));
  const auto whole = Search(graph, {}, 1000, /*whole_graph=*/true);
  ASSERT_TRUE(whole.ok()) << whole.status();
  EXPECT_FALSE(exhausted_);
  const auto cut = Search(graph, {}, 2, /*whole_graph=*/true);
  ASSERT_TRUE(cut.ok()) << cut.status();
  EXPECT_TRUE(exhausted_);
  EXPECT_LT(cut->candidates, whole->candidates / 2);
  // What more budget would try.
  EXPECT_THAT(cut->trace,
              testing::HasSubstr("not exhausted: region of nodes 0 to 39 (Tanh to Tanh)"));
  EXPECT_THAT(whole->trace, testing::Not(testing::HasSubstr("not exhausted")));
}

// Four equal cells: {Tanh, Softmax} again and again. Where one changes, all of them change.
TEST_F(RegionSearchTest, EqualRegionsTakeEqualVariants) {
  std::string text = "graph {\n  input %x0: float32[2,8]\n";
  for (int cell = 0; cell < 4; ++cell) {
    const std::string id = std::to_string(cell);
    text += "  %a" + id + " = Tanh(%x" + id + ") {}\n";
    text += "  %x" + std::to_string(cell + 1) + " = Softmax(%a" + id + ") {axis=1}\n";
  }
  const auto found = Search(GraphOf(text + "  output %x4\n}\n"), kLeavesAlone, 1000);
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_GT(found->graphs.size(), 1u);
  for (const RewrittenGraph& rewritten : found->graphs) {
    for (const auto& [rule, count] : rewritten.counts) EXPECT_EQ(count, 4) << found->trace;
  }
}

// Parts of such a graph, put together again, have its nodes in another order: another graph, to
// which the recipe of whoever searches does not lead.
TEST_F(RegionSearchTest, AGraphThatNothingRewritesIsItself) {
  const Graph graph = GraphOf(R"(graph {
    input %x: float32[2,8]
    %a = Abs(%x) {}
    %b = Exp(%x) {}
    %c = Sqrt(%a) {}
    %d = Sin(%b) {}
    %e = Cos(%c) {}
    %f = Ceil(%d) {}
    output %e, %f
  })");
  const auto found = Search(graph, {.leaf_nodes_max = 3, .interval_nodes_max = 3}, 1000);
  ASSERT_TRUE(found.ok()) << found.status();
  ASSERT_EQ(found->graphs.size(), 1u);
  EXPECT_GT(found->regions, 1);
  EXPECT_EQ(found->graphs[0].graph.fingerprint(), graph.fingerprint());
  EXPECT_TRUE(found->graphs[0].recipe.rounds.empty());
}

// Two leaves of one structure, which ends where constants begin. A rule that looks at their values
// applies in the first one only.
TEST_F(RegionSearchTest, SaysWhereStepsOfAnEqualRegionDoNotRepeat) {
  const Rule add_one_to_neg = {
      .name = "add_one_to_neg",
      .law = "Add(x, 1) = Neg(x)",
      .root = OpKind::kAdd,
      .match = [](const Rule&, const Graph& graph, NodeId node) -> Rewrites {
        if (graph.inline_constant(node, 1)->AsDoubles()[0] != 1) return {};
        return {ReplaceOp(graph, node, {OpKind::kNeg})};
      },
  };
  const Rule* const rules[] = {&add_one_to_neg};
  const Graph graph = GraphOf(R"(graph {
    input %x: float32[2,2]
    const %one: float32[2] = [1,1]
    const %two: float32[2] = [2,2]
    %a = Add(%x, %one) {}
    %b = Softmax(%a) {axis=1}
    %c = Add(%b, %two) {}
    %y = Softmax(%c) {axis=1}
    output %y
  })");
  ReplayingBudget forever(fake_.log);
  BudgetedProfiles profiles(fake_.profiles, forever, fake_.log);
  RegionSearchOptions options;
  options.backtracking.rules = rules;
  options.partition = kLeavesAlone;
  SolvedRegions solved;
  const auto found = SearchRegions(graph, options, fake_.device, profiles, &solved);
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(found->regions_solved, 1);
  EXPECT_EQ(found->regions_not_repeated, 1);
  EXPECT_EQ(found->graphs[0].counts, (RuleCounts{{"add_one_to_neg", 1}}));
  EXPECT_EQ(found->graphs[0].estimate_us, 32);  // 2 + 10 and 10 + 10
  EXPECT_NE(found->trace.find("region of nodes 2 to 3 stays as it is"), std::string::npos)
      << found->trace;
}

// What was searched for one graph answers for the next.
TEST_F(RegionSearchTest, SearchesNoStructureTwice) {
  const Graph graph = ChainOf({"Tanh", "Softmax", "Exp", "Softmax"});
  ReplayingBudget forever(fake_.log);
  BudgetedProfiles profiles(fake_.profiles, forever, fake_.log);
  RegionSearchOptions options;
  options.backtracking.rules = kRules;
  options.partition = kLeavesAlone;
  SolvedRegions solved;
  const auto first = SearchRegions(graph, options, fake_.device, profiles, &solved);
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_GT(first->candidates, 0);
  const auto second = SearchRegions(graph, options, fake_.device, profiles, &solved);
  ASSERT_TRUE(second.ok()) << second.status();
  EXPECT_EQ(second->candidates, 0);
  EXPECT_EQ(second->regions_solved, 0);
  ASSERT_EQ(second->graphs.size(), first->graphs.size());
  EXPECT_EQ(second->graphs[0].graph.fingerprint(), first->graphs[0].graph.fingerprint());
}

// Each product takes 10 us, and so does a Split: a pair of products merged costs as much as three
// of them, all three in one cost 20 us.
TEST_F(RegionSearchTest, MergesAllProjectionsOfAnAttention) {
  const Graph graph = GraphOf(R"(graph {
    input %x: float32[1,8,16]
    const %wq: float32[16,16] = synthetic 1
    const %wk: float32[16,16] = synthetic 2
    const %wv: float32[16,16] = synthetic 3
    %q = MatMul(%x, %wq) {}
    %k = MatMul(%x, %wk) {}
    %v = MatMul(%x, %wv) {}
    output %q, %k, %v
  })");
  ReplayingBudget forever(fake_.log);
  BudgetedProfiles profiles(fake_.profiles, forever, fake_.log);
  RegionSearchOptions options;
  options.backtracking.rules = AllRules();
  SolvedRegions solved;
  const auto found = SearchRegions(graph, options, fake_.device, profiles, &solved);
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(found->graphs[0].counts, (RuleCounts{{"merge_mat_muls", 1}})) << found->trace;
  EXPECT_EQ(found->graphs[0].graph.node_count(), 2);
  EXPECT_EQ(found->graphs[0].estimate_us, 20);
}

}  // namespace
}  // namespace plait
