#include "client/plan_diff.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace plait {
namespace {

using ::testing::HasSubstr;

ExplainedStep StepOf(std::string family, std::vector<std::string> nodes, double us) {
  ExplainedStep step;
  step.family = std::move(family);
  step.nodes = std::move(nodes);
  step.operators.assign(step.nodes.size(), "Op");
  step.us = us;
  return step;
}

const std::vector<ExplainedStep> kBefore = {StepOf("conv", {"a"}, 10), StepOf("add", {"b"}, 5),
                                            StepOf("relu", {"c"}, 1), StepOf("pool", {"d"}, 7)};
const std::vector<ExplainedStep> kAfter = {StepOf("reorder", {}, 2),
                                           StepOf("conv_fused", {"a", "b", ""}, 8),
                                           StepOf("relu", {"c"}, 1), StepOf("mean", {"e"}, 4)};

TEST(PlanDiffTest, StepsOfTheSameNodesStandBesideEachOther) {
  const std::vector<MatchedSteps> matches = MatchSteps(kBefore, kAfter);
  ASSERT_EQ(matches.size(), 5);
  // A conv and an add became one kernel, and a reorder came.
  EXPECT_EQ(matches[0].before.size(), 2);
  EXPECT_EQ(matches[0].after.size(), 1);
  EXPECT_EQ(matches[0].before_us, 15);
  EXPECT_EQ(matches[0].after_us, 8);
  EXPECT_EQ(matches[1].before[0].family, "pool");
  EXPECT_TRUE(matches[1].after.empty());
  EXPECT_EQ(matches[2].after[0].family, "mean");
  EXPECT_EQ(matches[4].before[0].family, "relu");
}

TEST(PlanDiffTest, NothingIsLost) {
  double before_us = 0;
  double after_us = 0;
  for (const MatchedSteps& match : MatchSteps(kBefore, kAfter)) {
    before_us += match.before_us;
    after_us += match.after_us;
  }
  EXPECT_EQ(before_us, 23);
  EXPECT_EQ(after_us, 15);
}

TEST(PlanDiffTest, ShowsWhatChangedMost) {
  const std::vector<MatchedSteps> matches = MatchSteps(kBefore, kAfter);
  const std::string text = DiffTable(matches, 1);
  EXPECT_THAT(text, HasSubstr("add, conv"));
  EXPECT_THAT(text, HasSubstr("conv_fused"));
  EXPECT_THAT(text, HasSubstr("-7.0"));
  EXPECT_THAT(text, ::testing::Not(HasSubstr("pool")));
  const Json json = DiffJson(matches);
  EXPECT_EQ(json[0]["nodes"], (Json{"a", "b"}));
  EXPECT_EQ(json[1]["after"], Json::array());
}

TEST(PlanDiffTest, EqualPlansHaveNoChange) {
  for (const MatchedSteps& match : MatchSteps(kBefore, kBefore)) {
    EXPECT_EQ(match.before_us, match.after_us);
  }
}

}  // namespace
}  // namespace plait
