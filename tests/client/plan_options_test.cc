#include "client/plan_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace plait {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr OptionSpec kOptions[] = {kPlanForOption, kAllowPredictedOption, kShapeRangeOption,
                                   kDropPlansOption};

absl::StatusOr<Arguments> Parse(const std::vector<std::string>& words) {
  return ParseArguments(words, kOptions, "MODEL");
}

TEST(PlanOptionsTest, ReadsThreadsAndRanges) {
  const auto arguments = Parse({"m", "--plan-for", "cpu:threads=1,2,4", "--plan-for",
                                "cuda:0:threads=1", "--shape-range", "a=b=1..8x3", "--shape-range",
                                "c=16..256", "--allow-predicted", "--drop-plans"});
  ASSERT_TRUE(arguments.ok()) << arguments.status();
  v1::OptimizeOptions options;
  AddPlanOptions(*arguments, &options);
  ASSERT_EQ(options.plan_for_size(), 2);
  EXPECT_EQ(options.plan_for(0).device(), "cpu");
  EXPECT_THAT(options.plan_for(0).threads(), ElementsAre(1, 2, 4));
  EXPECT_EQ(options.plan_for(1).device(), "cuda:0");
  EXPECT_TRUE(options.allow_predicted());
  EXPECT_TRUE(options.drop_plans());
  const v1::ShapeRange& range = options.shape_ranges().at("a=b");
  ASSERT_EQ(range.dims_size(), 2);
  EXPECT_EQ(range.dims(0).low(), 1);
  EXPECT_EQ(range.dims(0).high(), 8);
  EXPECT_EQ(range.dims(1).low(), 3);
  EXPECT_EQ(range.dims(1).high(), 3);
  EXPECT_EQ(options.shape_ranges().at("c").dims(0).high(), 256);
}

TEST(PlanOptionsTest, RefusesOtherForms) {
  for (const char* const text : {"cpu", "cpu:threads=", "cpu:threads=0", "cpu:threads=1,,2",
                                 ":threads=1", "cpu:threads=-1", "cpu:threads=two"}) {
    EXPECT_THAT(std::string(Parse({"m", "--plan-for", text}).status().message()),
                HasSubstr("--plan-for: expected DEVICE:threads=N,N"))
        << text;
  }
  for (const char* const text :
       {"a", "=1..2", "a=", "a=1..", "a=..2", "a=2..1", "a=0..1", "a=1...2", "a=1..2x", "a=1.5"}) {
    EXPECT_THAT(std::string(Parse({"m", "--shape-range", text}).status().message()),
                HasSubstr("--shape-range: expected NAME=RANGES"))
        << text;
  }
}

}  // namespace
}  // namespace plait
