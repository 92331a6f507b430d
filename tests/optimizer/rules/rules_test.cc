#include <cstdlib>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "optimizer/ir/text.h"
#include "optimizer/ops/shared/op_spec.h"
#include "optimizer/rules/rule.h"
#include "tests/optimizer/rules/equivalence.h"
#include "tests/optimizer/rules/golden_case.h"

namespace plait {
namespace {

// What the rule offers at the first node where it applies, each rewrite applied by itself; empty
// when it applies nowhere.
absl::StatusOr<std::vector<Graph>> ApplyFirstMatch(const Rule& rule, const Graph& graph) {
  std::vector<Graph> results;
  for (NodeId node = 0; node < graph.node_count() && results.empty(); ++node) {
    if (graph.node(node).op != rule.root) continue;
    for (const Rewrite& rewrite : rule.match(rule, graph, node)) {
      auto after = Apply(graph, rewrite);
      if (!after.ok()) return after.status();
      results.push_back(*std::move(after));
    }
  }
  return results;
}

class RuleTest : public testing::TestWithParam<const Rule*> {};

TEST_P(RuleTest, RewritesAsTheGoldenFileSaysAndKeepsTheFunction) {
  const Rule& rule = *GetParam();
  auto cases = ReadGoldenFile(rule.name);
  ASSERT_TRUE(cases.ok()) << cases.status();
  const bool update = std::getenv("PLAIT_UPDATE_GOLDEN") != nullptr;
  int matching = 0;
  for (GoldenCase& golden : *cases) {
    SCOPED_TRACE(golden.name);
    auto before = ParseTypedGraph(golden.before);
    ASSERT_TRUE(before.ok()) << before.status();
    auto after = ApplyFirstMatch(rule, *before);
    ASSERT_TRUE(after.ok()) << after.status();
    EXPECT_EQ(!after->empty(), !golden.after.empty()) << "law: " << rule.law;
    if (after->empty() || golden.after.empty()) continue;
    ++matching;
    std::vector<std::string> texts;
    for (const Graph& graph : *after) {
      texts.push_back(PrintGraph(graph));
      const absl::Status equivalent = CheckEquivalent(*before, graph, !rule.rounds);
      EXPECT_TRUE(equivalent.ok()) << rule.law << ": " << equivalent << "\n" << texts.back();
    }
    if (update) {
      golden.before = PrintGraph(*before);
      golden.after = std::move(texts);
      continue;
    }
    std::vector<std::string> expected;
    for (const std::string& text : golden.after) {
      auto graph = ParseTypedGraph(text);
      ASSERT_TRUE(graph.ok()) << graph.status() << "\n" << text;
      expected.push_back(PrintGraph(*graph));
    }
    EXPECT_EQ(texts, expected);
  }
  EXPECT_GE(matching, 2) << "a law is tried at two shapes at least";
  EXPECT_GT(cases->size(), static_cast<size_t>(matching))
      << "a case that must not match is missing";
  if (update && !HasFailure()) WriteGoldenFile(rule.name, *cases);
}

INSTANTIATE_TEST_SUITE_P(All, RuleTest, testing::ValuesIn(AllRules().begin(), AllRules().end()),
                         [](const auto& info) { return std::string(info.param->name); });

// Each rule meets the graphs that were written for others, at every node.
TEST(RulesTest, AreRightWhereverTheyApply) {
  for (const Rule* author : AllRules()) {
    auto cases = ReadGoldenFile(author->name);
    ASSERT_TRUE(cases.ok()) << cases.status();
    for (const GoldenCase& golden : *cases) {
      auto before = ParseTypedGraph(golden.before);
      ASSERT_TRUE(before.ok()) << before.status();
      for (const Rule* rule : AllRules()) {
        for (NodeId node = 0; node < before->node_count(); ++node) {
          if (before->node(node).op != rule->root) continue;
          for (const Rewrite& rewrite : rule->match(*rule, *before, node)) {
            SCOPED_TRACE(absl::StrCat(rule->name, " at node ", node, " of ", author->name, ", ",
                                      golden.name));
            auto after = Apply(*before, rewrite);
            ASSERT_TRUE(after.ok()) << after.status();
            const absl::Status equivalent = CheckEquivalent(*before, *after, !rule->rounds);
            EXPECT_TRUE(equivalent.ok()) << equivalent;
          }
        }
      }
    }
  }
}

TEST(RulesTest, HaveUniqueNamesAndLaws) {
  std::set<std::string> names;
  for (const Rule* rule : AllRules()) {
    EXPECT_TRUE(names.insert(std::string(rule->name)).second) << rule->name;
    EXPECT_FALSE(rule->law.empty()) << rule->name;
    EXPECT_EQ(FindRule(rule->name), rule);
  }
}

TEST(RulesTest, LeavesOutOfThePortableOnesThoseThatAreNot) {
  std::vector<const Rule*> portable;
  for (const Rule* rule : AllRules()) {
    if (rule->portable) portable.push_back(rule);
  }
  EXPECT_LT(portable.size(), AllRules().size());
  EXPECT_THAT(PortableRules(), testing::ElementsAreArray(portable));
}

}  // namespace
}  // namespace plait
