#include "optimizer/search/rewrite_steps.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "optimizer/ir/text.h"
#include "tests/optimizer/search/job.h"

namespace plait {
namespace {

using testing::HasSubstr;

// Always applied, so that it is part of the normal form here.
const Rule kCeilToAbs = {
    .name = "ceil_to_abs",
    .law = "Ceil(x) = Abs(x)",
    .root = OpKind::kCeil,
    .match = [](const Rule&, const Graph& graph, NodeId node) -> Rewrites {
      return {ReplaceOp(graph, node, {OpKind::kAbs})};
    },
    .always_wins = true,
};

// The operators of a graph, in order.
std::string OpsOf(const Graph& graph) {
  std::string text;
  for (const Node& node : graph.nodes()) {
    text += (text.empty() ? "" : " ") + std::string(OpKindName(node.op));
  }
  return text;
}

TEST(ApplyStepTest, GivesTheGraphInNormalFormAndCounts) {
  const Rule* const rules[] = {&kTanhToPair, &kCeilToAbs};
  const Graph graph = TanhGraph();
  RuleCounts counts{{"tanh_to_pair", 4}};
  const absl::StatusOr<Graph> applied =
      ApplyStep(graph, rules, 0, kTanhToPair.match(kTanhToPair, graph, 0).at(0), &counts);
  ASSERT_TRUE(applied.ok()) << applied.status();
  EXPECT_EQ(OpsOf(*applied), "Abs Floor");
  EXPECT_EQ(counts, (RuleCounts{{"ceil_to_abs", 1}, {"tanh_to_pair", 5}}));
}

TEST(ApplyStepTest, NamesTheRuleOfAWrongRewrite) {
  Rewrite rewrite;
  rewrite.removed = {0};  // and nothing in its place
  RuleCounts counts;
  const absl::Status status = ApplyStep(TanhGraph(), kRules, 1, rewrite, &counts).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInternal);
  EXPECT_THAT(std::string(status.message()), HasSubstr("rule pair_to_neg: "));
  EXPECT_TRUE(counts.empty());
}

TEST(RepeatStepsTest, FollowsTheTable) {
  struct Case {
    const char* name;
    std::vector<RewriteStep> steps;
    const char* outcome;  // the operators, or the error
  };
  const std::vector<Case> cases = {
      {"no step", {}, "Tanh"},
      {"one step", {{0, 0}}, "Ceil Floor"},
      {"a step on what the first one made", {{0, 0}, {1, 1}}, "Neg"},
      {"another operator there", {{1, 0}}, "rule pair_to_neg does not match at node 0"},
      {"no such node any more", {{0, 0}, {1, 2}}, "rule pair_to_neg does not match at node 2"},
      {"twice the same", {{0, 0}, {0, 0}}, "rule tanh_to_pair does not match at node 0"},
  };
  for (const Case& test : cases) {
    RuleCounts counts;
    const absl::StatusOr<Graph> repeated = RepeatSteps(TanhGraph(), kRules, test.steps, &counts);
    if (repeated.ok()) {
      EXPECT_EQ(OpsOf(*repeated), test.outcome) << test.name;
      int steps = 0;
      for (const auto& [rule, count] : counts) steps += count;
      EXPECT_EQ(steps, static_cast<int>(test.steps.size())) << test.name;
    } else {
      EXPECT_EQ(repeated.status().code(), absl::StatusCode::kFailedPrecondition) << test.name;
      EXPECT_EQ(std::string(repeated.status().message()), test.outcome) << test.name;
    }
  }
}

TEST(RepeatStepsTest, AsksTheRuleAgain) {
  // A Floor whose input is no Ceil: the operator is right, the rule says no.
  const Graph graph = GraphOf(
      "graph {\n input %x: float32[2,8]\n %a = Abs(%x) {}\n %y = Floor(%a) {}\n output %y\n}");
  RuleCounts counts;
  EXPECT_EQ(RepeatSteps(graph, kRules, {{1, 1}}, &counts).status().code(),
            absl::StatusCode::kFailedPrecondition);
}

// A rule may offer several rewrites at one node; each is a match, and steps remember which it was.
TEST(RepeatStepsTest, RepeatsTheChoiceThatWasMade) {
  const Rule two_ways = {
      .name = "two_ways",
      .law = "Tanh(x) = Neg(x) = Ceil(x)",
      .root = OpKind::kTanh,
      .match = [](const Rule&, const Graph& graph, NodeId node) -> Rewrites {
        return {ReplaceOp(graph, node, {OpKind::kNeg}), ReplaceOp(graph, node, {OpKind::kCeil})};
      },
  };
  const Rule* const rules[] = {&two_ways};
  const Graph graph = TanhGraph();
  const std::vector<Match> matches = MatchIndex(graph).FindMatches(rules);
  ASSERT_EQ(matches.size(), 2u);
  for (const Match& match : matches) {
    RuleCounts counts;
    const std::vector<RewriteStep> steps = {{match.rule, match.node, match.choice}};
    const absl::StatusOr<Graph> repeated = RepeatSteps(graph, rules, steps, &counts);
    ASSERT_TRUE(repeated.ok()) << repeated.status();
    const absl::StatusOr<Graph> applied = Apply(graph, match.rewrite);
    ASSERT_TRUE(applied.ok()) << applied.status();
    EXPECT_EQ(repeated->fingerprint(), applied->fingerprint());
  }
  RuleCounts counts;
  const std::vector<RewriteStep> third = {{0, matches[0].node, 2}};
  EXPECT_TRUE(absl::IsFailedPrecondition(RepeatSteps(graph, rules, third, &counts).status()));
}

}  // namespace
}  // namespace plait
