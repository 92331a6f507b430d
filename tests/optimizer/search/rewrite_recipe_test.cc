#include "optimizer/search/rewrite_recipe.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "optimizer/ir/text.h"
#include "optimizer/plan/rebind_plan.h"
#include "optimizer/rules/laws/law_rules.h"
#include "tests/fakes/fake_device.h"

namespace plait {
namespace {

using testing::HasSubstr;

// Two products of one input and their sum, behind a Neg; in normal form.
constexpr char kText[] = R"(graph {
  input %x: float32[ROWS,8]
  const %v: float32[8,4] = synthetic 1
  const %w: float32[8,4] = synthetic 2
  %n = Neg(%x) {}
  %a = MatMul(%n, %v) {}
  %b = MatMul(%n, %w) {}
  %c = Tanh(%a) {}
  %y = Mul(%c, %b) {}
  output %y
}
)";

Graph WithRows(int rows) {
  return GraphOf(absl::StrReplaceAll(kText, {{"ROWS", std::to_string(rows)}}));
}

constexpr char kRecipe[] =
    "piece nodes=[0]\n"
    "piece nodes=[1,2,3,4]\n"
    "step node=0 choice=0 rule=\"merge_mat_muls\"\n";

RewriteRecipe RecipeOf(absl::string_view text) {
  const absl::StatusOr<RewriteRecipe> recipe = ParseRecipe(text);
  EXPECT_TRUE(recipe.ok()) << recipe.status();
  return *recipe;
}

TEST(RewriteRecipeTest, TextAndRecipeAreOne) {
  const RewriteRecipe recipe = RecipeOf(kRecipe);
  ASSERT_EQ(recipe.rounds.size(), 1u);
  ASSERT_EQ(recipe.rounds[0].size(), 2u);
  EXPECT_EQ(recipe.rounds[0][1].nodes, (std::vector<NodeId>{1, 2, 3, 4}));
  EXPECT_EQ(PrintRecipe(recipe), kRecipe);
  EXPECT_EQ(RecipeOf(""), RewriteRecipe());
  EXPECT_EQ(PrintRecipe({}), "");
}

// The second round cuts what the first has led to, which has other nodes.
TEST(RewriteRecipeTest, FollowsRoundsOneAfterTheOther) {
  const std::string text = absl::StrCat(kRecipe, "round\npiece nodes=[0,1,2,3,4]\n");
  const RewriteRecipe recipe = RecipeOf(text);
  ASSERT_EQ(recipe.rounds.size(), 2u);
  EXPECT_EQ(PrintRecipe(recipe), text);
  const absl::StatusOr<Graph> followed = FollowRecipe(WithRows(2), recipe);
  ASSERT_TRUE(followed.ok()) << followed.status();
  EXPECT_EQ(followed->fingerprint(), FollowRecipe(WithRows(2), RecipeOf(kRecipe))->fingerprint());
  const RewriteRecipe repeated = RecipeOf(absl::StrCat(kRecipe, "round\n", kRecipe));
  EXPECT_EQ(FollowRecipe(WithRows(2), repeated).status().code(),
            absl::StatusCode::kFailedPrecondition);
}

TEST(RewriteRecipeTest, GivesTheRewrittenGraphAtAnyShape) {
  const absl::StatusOr<Graph> two = FollowRecipe(WithRows(2), RecipeOf(kRecipe));
  ASSERT_TRUE(two.ok()) << two.status();
  EXPECT_THAT(PrintGraph(*two), HasSubstr("Split"));
  const absl::StatusOr<Graph> five = FollowRecipe(WithRows(5), RecipeOf(kRecipe));
  ASSERT_TRUE(five.ok()) << five.status();
  EXPECT_TRUE(CorrespondingTensors(*two, *five).ok());
  EXPECT_EQ(five->type(five->outputs()[0]).shape, (Shape{5, 4}));
  EXPECT_EQ(FollowRecipe(WithRows(2), {})->fingerprint(), WithRows(2).fingerprint());
}

TEST(RewriteRecipeTest, TellsWhetherARecipeLeadsToAGraph) {
  const RewriteRecipe recipe = RecipeOf(kRecipe);
  const Graph rewritten = *FollowRecipe(WithRows(2), recipe);
  EXPECT_TRUE(LeadsTo(WithRows(2), recipe, rewritten));
  EXPECT_FALSE(LeadsTo(WithRows(3), recipe, rewritten));
  EXPECT_FALSE(LeadsTo(WithRows(2), {}, rewritten));
  EXPECT_FALSE(LeadsTo(WithRows(2), recipe, WithRows(2)));
  EXPECT_TRUE(LeadsTo(WithRows(2), {}, WithRows(2)));
}

// Rules that are data have names that say what they are, so a recipe may name them.
TEST(RewriteRecipeTest, NamesRulesThatAreData) {
  int followed = 0;
  for (const Rule* rule : GeneratedRules()) {
    RuleCounts counts;
    const auto graph = Canonicalize(rule->pattern->law.source, AllRules(), &counts);
    ASSERT_TRUE(graph.ok()) << graph.status();
    std::vector<std::string> nodes;
    NodeId root = kNoNode;
    for (NodeId node = 0; node < graph->node_count(); ++node) {
      nodes.push_back(absl::StrCat(node));
      const bool has_root = graph->node(node).op == rule->root;
      if (has_root && !rule->match(*rule, *graph, node).empty()) root = node;
    }
    if (root == kNoNode) continue;  // the normal form is another graph
    const std::string text =
        absl::StrCat("piece nodes=[", absl::StrJoin(nodes, ","), "]\nstep node=", root,
                     " choice=0 rule=\"", rule->name, "\"\n");
    EXPECT_EQ(PrintRecipe(RecipeOf(text)), text);
    const auto rewritten = FollowRecipe(*graph, RecipeOf(text));
    ASSERT_TRUE(rewritten.ok()) << rewritten.status();
    EXPECT_TRUE(LeadsTo(*graph, RecipeOf(text), *rewritten)) << text;
    ++followed;
  }
  EXPECT_GT(followed, 0);
  EXPECT_THAT(std::string(ParseRecipe("piece nodes=[0]\nstep node=0 choice=0 "
                                      "rule=\"generated/000000000000\"\n")
                              .status()
                              .message()),
              HasSubstr("line 2: there is no rule \"generated/000000000000\""));
}

TEST(RewriteRecipeTest, RefusesWhatIsForAnotherGraph) {
  const std::vector<std::pair<const char*, const char*>> cases = {
      {"piece nodes=[0,1,2,3]\n", "for another graph"},                     // a node is missing
      {"piece nodes=[0,1,2,3,4,5]\n", "for another graph"},                 // one too many
      {"piece nodes=[0,1,2]\npiece nodes=[2,3,4]\n", "for another graph"},  // twice
      {"piece nodes=[0,2,1,3,4]\n", "for another graph"},                   // not ascending
      {"piece nodes=[1,2,3,4]\npiece nodes=[0]\n", "for another graph"},    // feeds an earlier one
      {"piece nodes=[0,3]\npiece nodes=[1,2,4]\n", "for another graph"},    // not convex
      {"piece nodes=[0,1,2,3,4]\nstep node=0 choice=0 rule=\"merge_mat_muls\"\n",
       "does not match at node 0"},
      {"piece nodes=[0,1,2,3,4]\nstep node=1 choice=9 rule=\"merge_mat_muls\"\n",
       "does not match at node 1"},
      {"piece nodes=[0,1,2,3,4]\nstep node=77 choice=0 rule=\"merge_mat_muls\"\n",
       "does not match at node 77"},
  };
  for (const auto& [text, message] : cases) {
    const absl::Status status = FollowRecipe(WithRows(2), RecipeOf(text)).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << text;
    EXPECT_THAT(std::string(status.message()), HasSubstr(message)) << text;
  }
}

TEST(RewriteRecipeTest, LimitsTheWorkOfAStrangersRecipe) {
  RewriteRecipe recipe = RecipeOf("piece nodes=[0,1,2,3,4]\n");
  recipe.rounds[0][0].steps.resize(300'000);
  EXPECT_EQ(FollowRecipe(WithRows(2), recipe).status().code(),
            absl::StatusCode::kResourceExhausted);
}

TEST(RewriteRecipeTest, NamesTheLineOfAWrongText) {
  const std::vector<std::pair<const char*, const char*>> cases = {
      {"step node=0 choice=0 rule=\"merge_mat_muls\"\n", "line 1: a step before any piece"},
      {"piece nodes=[0]\nstep node=0 choice=0 rule=\"no_such_rule\"\n",
       "line 2: there is no rule \"no_such_rule\""},
      {"round\n", "line 1: a round before any piece"},
      {"piece nodes=[0]\nround\n", "the last round has no pieces"},
      {"piece nodes=[0]\nround\nround\n", "line 3: a round before any piece"},
      {"piece nodes=[0]\nround\nstep node=0 choice=0 rule=\"merge_mat_muls\"\n",
       "line 3: a step before any piece"},
      {"piece nodes=[-1]\n", "line 1"},
      {"piece nodes=[0\n", "line 1"},
      {"piece nodes=[0] more\n", "line 1"},
      {"\npiece nodes=[99999999999]\n", "line 2"},
      {"piece nodes=[0]\nstep node=0 choice=-1 rule=\"merge_mat_muls\"\n", "line 2"},
  };
  for (const auto& [text, message] : cases) {
    const absl::Status status = ParseRecipe(text).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << text;
    EXPECT_THAT(std::string(status.message()), HasSubstr(message)) << text;
  }
}

}  // namespace
}  // namespace plait
