#include "client/explained_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "optimizer/ops/shared/op_spec.h"

namespace plait {
namespace {

using ::testing::HasSubstr;

// A convolution whose sum with a constant has another reader, and a Concat of Concats.
Graph ReportedModel() {
  return *ParseTypedGraph(R"(graph {
    input %x: float32[1,2,3,3]
    const %w: float32[3,2,1,1] = synthetic 1
    const %c: float32[1] = synthetic 3
    %a = Conv(%x, %w) {}
    %y = Add(%a, %c) {}
    %t = Transpose(%y) {perm=[0,2,3,1]}
    %u = Transpose(%t) {perm=[0,3,1,2]}
    %r = Relu(%u) {}
    output %r, %a
  })");
}

std::vector<const Rule*> Rules(const std::vector<std::string>& names) {
  std::vector<const Rule*> rules;
  for (const std::string& name : names) rules.push_back(FindRule(name));
  return rules;
}

TEST(ExplainedRulesTest, TellsWhereARuleAppliesAndWhatIsInTheWay) {
  const std::vector<AskedGraph> graphs = {{"original", ReportedModel()}};
  const auto rules = Rules({"merge_transposes", "bias_after_conv"});
  const std::vector<ExplainedRule> answers = ExplainRules(graphs, rules, "");
  EXPECT_EQ(RulesText(answers, rules, 20),
            "merge_transposes: Transpose(Transpose(x, p), q) = Transpose(x, p after q)\n"
            "  original     Transpose %u: applies, always\n"
            "bias_after_conv: Conv(x, w, b) + c = Conv(x, w, b + c), c per output channel\n"
            "  original     Add %y: Conv %a is an output of the model\n");
  const Json json = RulesJson(answers);
  ASSERT_EQ(json.size(), 2);
  EXPECT_EQ(json[0]["rewrites"], 1);
  EXPECT_EQ(json[1]["node"], "%y");
  EXPECT_TRUE(json[1]["change_us"].is_null());
  EXPECT_EQ(json[1]["reasons"], Json({"Conv %a is an output of the model"}));
}

TEST(ExplainedRulesTest, TheSameAnswerOfSeveralGraphsStandsOnce) {
  const std::vector<AskedGraph> graphs = {{"original", ReportedModel()},
                                          {"running", ReportedModel()}};
  EXPECT_EQ(ExplainRules(graphs, Rules({"bias_after_conv"}), "").size(), 1);
}

TEST(ExplainedRulesTest, SaysThatThereIsNoCaseOfARule) {
  const auto rules = Rules({"merge_gemms"});
  EXPECT_THAT(RulesText({}, rules, 20), HasSubstr("no node is a case for it"));
  EXPECT_THAT(RulesText({}, AllRules(), 20), HasSubstr("no rule applies there"));
}

TEST(ExplainedRulesTest, ShowsTheFirstNodesOfARule) {
  const std::vector<AskedGraph> graphs = {{"original", ReportedModel()}};
  const auto rules = Rules({"transpose_after_unary"});
  std::vector<ExplainedRule> answers = ExplainRules(graphs, rules, "");
  ASSERT_EQ(answers.size(), 1);
  answers.push_back(answers[0]);
  answers[0].change_us = 3.25;
  const std::string text = RulesText(answers, rules, 1);
  EXPECT_THAT(text, HasSubstr("applies, if it is faster: +3.2 us predicted"));
  EXPECT_THAT(text, HasSubstr("and 1 more"));
}

TEST(ExplainedRulesTest, PricesRewritesByPredictedTimes) {
  const std::vector<AskedGraph> graphs = {{"original", ReportedModel()}};
  std::vector<ExplainedRule> answers =
      ExplainRules(graphs, Rules({"transpose_after_unary", "merge_transposes"}), "");
  const DeviceDescription device = {
      .id = "cpu", .backend = "cpu", .instruction_set = "avx2", .threads = 1};
  PriceRules(graphs, device, 10, &answers);
  ASSERT_EQ(answers.size(), 2);
  EXPECT_TRUE(answers[0].change_us.has_value());
  EXPECT_FALSE(answers[1].change_us.has_value()) << "it always wins";
}

TEST(ExplainedRulesTest, SuggestsRulesOfSimilarNames) {
  EXPECT_EQ(RulesNamed("all")->size(), AllRules().size());
  EXPECT_EQ(RulesNamed("merge_convs")->size(), 1);
  EXPECT_THAT(std::string(RulesNamed("merge_conv").status().message()),
              HasSubstr("merge_convs, merge_convs_by_padding"));
}

}  // namespace
}  // namespace plait
