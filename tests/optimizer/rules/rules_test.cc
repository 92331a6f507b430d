#include <cstdlib>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "optimizer/ir/text.h"
#include "optimizer/ops/shared/op_spec.h"
#include "optimizer/rules/rule.h"
#include "tests/optimizer/rules/equivalence.h"
#include "tests/optimizer/rules/golden_case.h"

namespace plait {
namespace {

// The rule's first match in node order, applied.
absl::StatusOr<std::optional<Graph>> ApplyFirstMatch(const Rule& rule, const Graph& graph) {
  for (NodeId node = 0; node < graph.node_count(); ++node) {
    if (graph.node(node).op != rule.root) continue;
    const auto rewrite = rule.match(graph, node);
    if (!rewrite) continue;
    auto after = Apply(graph, *rewrite);
    if (!after.ok()) return after.status();
    return std::optional<Graph>(*std::move(after));
  }
  return std::optional<Graph>();
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
    EXPECT_EQ(after->has_value(), golden.after.has_value()) << "law: " << rule.law;
    if (!after->has_value() || !golden.after) continue;
    ++matching;
    const absl::Status equivalent = CheckEquivalent(*before, **after, !rule.rounds);
    EXPECT_TRUE(equivalent.ok()) << rule.law << ": " << equivalent << "\n" << PrintGraph(**after);
    if (update) {
      golden.before = PrintGraph(*before);
      golden.after = PrintGraph(**after);
      continue;
    }
    auto expected = ParseTypedGraph(*golden.after);
    ASSERT_TRUE(expected.ok()) << expected.status() << "\n" << PrintGraph(**after);
    EXPECT_EQ(PrintGraph(**after), PrintGraph(*expected));
  }
  EXPECT_GE(matching, 2) << "a law is tried at two shapes at least";
  EXPECT_GT(cases->size(), static_cast<size_t>(matching))
      << "a case that must not match is missing";
  if (update && !HasFailure()) WriteGoldenFile(rule.name, *cases);
}

INSTANTIATE_TEST_SUITE_P(All, RuleTest, testing::ValuesIn(AllRules().begin(), AllRules().end()),
                         [](const auto& info) { return std::string(info.param->name); });

TEST(RulesTest, HaveUniqueNamesAndLaws) {
  std::set<std::string> names;
  for (const Rule* rule : AllRules()) {
    EXPECT_TRUE(names.insert(std::string(rule->name)).second) << rule->name;
    EXPECT_FALSE(rule->law.empty()) << rule->name;
    EXPECT_EQ(FindRule(rule->name), rule);
  }
}

}  // namespace
}  // namespace plait
