#include "client/explained_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace plait {
namespace {

using ::testing::HasSubstr;

std::vector<ExplainedStep> Steps() {
  ExplainedStep conv;
  conv.width = 2;
  conv.family = "conv_direct";
  conv.variant = "nhwc";
  conv.operators = {"Conv", "Relu"};
  conv.nodes = {"/first", ""};
  conv.output = "float32[1,8,4,4]";
  conv.flops = 3'000'000;
  conv.bytes = 100'000;
  conv.us = 30;
  ExplainedStep reorder;
  reorder.place = 1;
  reorder.family = "reorder";
  reorder.output = "float32[1,8,4,4]";
  reorder.bytes = 20'000;
  reorder.is_copy = true;
  reorder.us = 10;
  ExplainedStep second = conv;
  second.place = 2;
  second.nodes = {"/second", ""};
  second.us = 60;
  return {conv, reorder, second};
}

TEST(ExplainedPlanTest, SumsByFamilyWhatTakesLongestFirst) {
  EXPECT_EQ(FamiliesTable(Steps()),
            "kernels, by family        steps           us   share   Gflop/s     GB/s\n"
            "conv_direct                   2         90.0   90.0%      66.7      2.2\n"
            "reorder                       1         10.0   10.0%       0.0      2.0\n");
  const Json families = FamiliesJson(Steps());
  EXPECT_EQ(families[0]["flops"], 6'000'000);
  EXPECT_EQ(families[1]["family"], "reorder");
}

TEST(ExplainedPlanTest, ShowsTheSlowestSteps) {
  const std::string text = StepsTable(Steps(), 1);
  EXPECT_THAT(text, HasSubstr("/second"));
  EXPECT_THAT(text, HasSubstr("60.0%"));
  EXPECT_THAT(text, ::testing::Not(HasSubstr("/first")));
  // All of them, in launch order.
  const std::string all = StepsTable(Steps(), 0);
  EXPECT_LT(all.find("/first"), all.find("(another format)"));
  EXPECT_LT(all.find("(another format)"), all.find("/second"));
}

TEST(ExplainedPlanTest, FindsTheStepsOfANode) {
  const std::vector<ExplainedStep> found = StepsWithNode(Steps(), "/second");
  ASSERT_EQ(found.size(), 1);
  EXPECT_EQ(found[0].place, 2);
  EXPECT_TRUE(StepsWithNode(Steps(), "/third").empty());
}

TEST(ExplainedPlanTest, WritesStepsForScripts) {
  const Json steps = StepsJson(Steps());
  ASSERT_EQ(steps.size(), 3);
  EXPECT_EQ(steps[0]["operators"], (Json{"Conv", "Relu"}));
  EXPECT_EQ(steps[1]["copy"], true);
  EXPECT_EQ(steps[2]["us"], 60);
}

}  // namespace
}  // namespace plait
