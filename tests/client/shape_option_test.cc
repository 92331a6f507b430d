#include "client/shape_option.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace plait {
namespace {

using testing::HasSubstr;

absl::StatusOr<Arguments> ParseShapes(const std::vector<std::string>& words) {
  return ParseArguments(words, {&kShapeOption, 1}, "MODEL");
}

TEST(ShapeOptionTest, ReadsSeveralShapesAndSplitsAtTheLastEqualsSign) {
  const auto arguments =
      ParseShapes({"m", "--shape", "a=1x3", "--shape", "b=c=2", "--shape", "s="});
  ASSERT_TRUE(arguments.ok()) << arguments.status();
  EXPECT_EQ(NamedShapes(*arguments), (Bindings{{"a", {1, 3}}, {"b=c", {2}}, {"s", {}}}));
}

TEST(ShapeOptionTest, RefusesWhatIsNoShape) {
  for (const char* text : {"a", "=1", "a=0", "a=1x", "a=-1", "a=99999999999x99999999999"}) {
    const auto arguments = ParseShapes({"m", "--shape", text});
    EXPECT_THAT(std::string(arguments.status().message()),
                HasSubstr("--shape: expected NAME=DIMS such as input=1x3x224x224, is \""))
        << text;
  }
}

}  // namespace
}  // namespace plait
