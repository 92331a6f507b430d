#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "optimizer/ir/text.h"
#include "optimizer/ops/shared/op_spec.h"
#include "optimizer/rules/ask_rules.h"
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

// What the rule says at the nodes where it does not apply.
std::vector<std::string> ReasonsOf(const Rule& rule, const Graph& graph) {
  const Rule* const rules[] = {&rule};
  std::vector<std::string> reasons;
  for (const RuleAnswer& answer : AskRules(graph, rules)) {
    reasons.insert(reasons.end(), answer.reasons.begin(), answer.reasons.end());
  }
  return reasons;
}

// Rules that are not tried in GF(p), and why not. All others are, with Relu and its kind as unknown
// functions, in one case at least.
struct NotInField {
  absl::string_view rule;
  absl::string_view reason;
};
constexpr NotInField kNotInField[] = {
    {"attention_from_softmax", "Softmax is no function of single elements; 1 / scale is rounded"},
    {"divide_by_constant", "the reciprocal of an inline constant is rounded"},
    {"gelu_from_erf", "exporters round the factor 1 / sqrt(2)"},
    {"gelu_from_tanh", "exporters round the factor sqrt(2 / pi)"},
    {"merge_addends", "the sum of inline constants is rounded"},
    {"merge_clips", "bounds are compared, and GF(p) has no order"},
    {"merge_factors", "the product of inline constants is rounded"},
    {"relu_after_max_pool", "GF(p) has no order, and so no largest element"},
    {"relu_before_max_pool", "GF(p) has no order, and so no largest element"},
    {"remove_repeated_relu", "holds of Relu and not of every function"},
    {"sum_of_multiples", "the sum of inline constants is rounded"},
};

bool IsTriedInField(const Rule& rule) {
  return std::none_of(std::begin(kNotInField), std::end(kNotInField),
                      [&](const NotInField& other) { return other.rule == rule.name; });
}

class RuleTest : public testing::TestWithParam<const Rule*> {};

TEST_P(RuleTest, RewritesAsTheGoldenFileSaysAndKeepsTheFunction) {
  const Rule& rule = *GetParam();
  auto cases = ReadGoldenFile(rule.name);
  ASSERT_TRUE(cases.ok()) << cases.status();
  const bool update = std::getenv("PLAIT_UPDATE_GOLDEN") != nullptr;
  int matching = 0;
  int in_field = 0;
  for (GoldenCase& golden : *cases) {
    SCOPED_TRACE(golden.name);
    auto before = ParseTypedGraph(golden.before);
    ASSERT_TRUE(before.ok()) << before.status();
    auto after = ApplyFirstMatch(rule, *before);
    ASSERT_TRUE(after.ok()) << after.status();
    EXPECT_EQ(!after->empty(), !golden.after.empty()) << "law: " << rule.law;
    if (golden.after.empty()) {
      const std::vector<std::string> reasons = ReasonsOf(rule, *before);
      if (update) golden.reasons = reasons;
      if (!golden.reasons.empty()) {
        EXPECT_EQ(reasons, golden.reasons);
      }
    }
    if (after->empty() || golden.after.empty()) continue;
    ++matching;
    std::vector<std::string> texts;
    for (const Graph& graph : *after) {
      texts.push_back(PrintGraph(graph));
      const auto equivalent = CheckEquivalent(*before, graph, IsTriedInField(rule));
      EXPECT_TRUE(equivalent.ok()) << rule.law << ": " << equivalent.status() << "\n"
                                   << texts.back();
      in_field += equivalent.ok() && *equivalent == Exactness::kFieldToo;
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
  EXPECT_EQ(in_field > 0, IsTriedInField(rule)) << in_field << " of " << matching << " cases";
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
            const auto equivalent = CheckEquivalent(*before, *after, IsTriedInField(*rule));
            EXPECT_TRUE(equivalent.ok()) << equivalent.status();
          }
        }
      }
    }
  }
}

// Whoever asks a rule why it does not apply gets an answer from those that are asked about most.
TEST(RulesTest, SayWhyTheyDoNotApply) {
  int rules = 0;
  for (const Rule* rule : AllRules()) {
    const auto cases = ReadGoldenFile(rule->name);
    ASSERT_TRUE(cases.ok()) << cases.status();
    rules += std::any_of(cases->begin(), cases->end(),
                         [](const GoldenCase& golden) { return !golden.reasons.empty(); });
  }
  EXPECT_GE(rules, 30) << "of " << AllRules().size();
}

TEST(RulesTest, AnswersNameTheirNodesAndNothingWithoutTheOperators) {
  const auto graph = ParseTypedGraph(
      "graph {\n  input %x: float32[1,2,3,3]\n  const %w: float32[3,2,1,1] = synthetic 1\n"
      "  const %c: float32[1] = synthetic 3\n  %a = Conv(%x, %w) {}\n  %y = Add(%a, %c) {}\n"
      "  %z = Relu(%y) {}\n  output %z, %a\n}\n");
  ASSERT_TRUE(graph.ok()) << graph.status();
  const std::vector<RuleAnswer> answers = AskRules(*graph, AllRules());
  ASSERT_EQ(answers.size(), 1u);
  EXPECT_EQ(answers[0].rule->name, "bias_after_conv");
  EXPECT_EQ(graph->node(answers[0].node).op, OpKind::kAdd);
  EXPECT_EQ(answers[0].rewrites, 0);
  EXPECT_THAT(answers[0].reasons, testing::ElementsAre("Conv %a is an output of the model"));
}

TEST(RulesTest, WhatRoundsIsNotTriedInField) {
  for (const Rule* rule : AllRules()) {
    EXPECT_FALSE(rule->rounds && IsTriedInField(*rule)) << rule->name;
  }
  for (const NotInField& exception : kNotInField) {
    EXPECT_NE(FindRule(exception.rule), nullptr) << exception.rule;
    EXPECT_FALSE(exception.reason.empty()) << exception.rule;
  }
}

// Of thousands, thousands of sets of thousands would take more memory than a search has.
TEST(RulesTest, OfferFewSetsOfVeryManySiblings) {
  constexpr int kSiblings = 300;
  std::string text = "graph {\n  input %x: float32[4,8]\n";
  std::string outputs;
  for (int i = 0; i < kSiblings; ++i) {
    absl::StrAppend(&text, "  const %w", i, ": float32[8,8] = synthetic ", i, "\n  %y", i,
                    " = MatMul(%x, %w", i, ") {}\n");
    absl::StrAppend(&outputs, i > 0 ? ", " : "", "%y", i);
  }
  const Graph graph = *ParseTypedGraph(absl::StrCat(text, "  output ", outputs, "\n}"));
  const Rule* const rule = FindRule("merge_mat_muls");
  ASSERT_NE(rule, nullptr);
  size_t merged = 0;
  for (NodeId node = 0; node < graph.node_count(); ++node) {
    for (const Rewrite& rewrite : rule->match(*rule, graph, node)) merged += rewrite.removed.size();
  }
  EXPECT_GT(merged, 10'000u);
  EXPECT_LT(merged, 40'000u);
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
