#include "optimizer/ir/match_inputs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "optimizer/ir/text.h"

namespace plait {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class MatchInputsTest : public testing::Test {
 protected:
  absl::StatusOr<std::vector<int>> Match(const std::vector<GivenInput>& given) {
    return MatchInputs(graph_, given);
  }
  std::string ErrorOf(const std::vector<GivenInput>& given) {
    const absl::Status status = Match(given).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
    return std::string(status.message());
  }

  const Graph graph_ = *ParseGraph(R"(graph {
  input %x: float32[2,3]
  input %mask: bool[2]
  %y: float32[2,3] = Relu(%x)
  output %y
})");
};

TEST_F(MatchInputsTest, FindsTheValueOfEachInputInTheGraphsOrder) {
  EXPECT_THAT(*Match({{"x", 24}, {"mask", 2}}), ElementsAre(0, 1));
  EXPECT_THAT(*Match({{"mask", 2}, {"x", 24}}), ElementsAre(1, 0));
}

TEST_F(MatchInputsTest, NamesWhatIsMissing) {
  EXPECT_EQ(ErrorOf({{"x", 24}}), "input mask: is bool[2], has no value");
  EXPECT_EQ(ErrorOf({}), "input x: is float32[2,3], has no value");
}

TEST_F(MatchInputsTest, NamesASizeThatIsNotTheInputs) {
  EXPECT_EQ(ErrorOf({{"x", 12}, {"mask", 2}}),
            "input x: is float32[2,3] of 24 bytes, its value has 12");
}

TEST_F(MatchInputsTest, RefusesAnInputThatIsNotThereAndOneThatIsThereTwice) {
  EXPECT_EQ(ErrorOf({{"x", 24}, {"mask", 2}, {"z", 4}}),
            "input z: the model has no such input (it has x, mask)");
  EXPECT_EQ(ErrorOf({{"x", 24}, {"mask", 2}, {"x", 24}}), "input x: has two values");
  EXPECT_THAT(ErrorOf({{"\n", 24}}), HasSubstr("input \\n: "));
}

}  // namespace
}  // namespace plait
