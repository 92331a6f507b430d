#include "gpu_worker/executor/make_inputs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/gpu_worker/executor/executor_fixture.h"

namespace plait {
namespace {

TEST(MakeInputsTest, ValuesAreSeededAndFitTheirUse) {
  const Graph graph = ParseTyped(R"(graph {
  input %ids: int64[1,40]
  input %segments: int64[1,40]
  input %attention_mask: int64[1,40]
  input %x: float32[5]
  const %words: float32[100,4] = synthetic 1
  const %kinds: float32[2,4] = synthetic 2
  const %shape: int64[1] = [-1]
  %flat = Reshape(%segments, %shape)
  %w = Gather(%words, %ids)
  %k = Gather(%kinds, %flat)
  output %w, %k, %attention_mask, %x
})");
  const absl::StatusOr<std::vector<Tensor>> inputs = MakeInputs(graph, 5);
  ASSERT_TRUE(inputs.ok()) << inputs.status();
  EXPECT_EQ(*inputs, *MakeInputs(graph, 5));
  EXPECT_NE(*inputs, *MakeInputs(graph, 6));
  EXPECT_THAT((*inputs)[0].AsInt64s(),
              testing::Each(testing::AllOf(testing::Ge(0), testing::Lt(100))));
  EXPECT_THAT((*inputs)[0].AsInt64s(), testing::Contains(testing::Gt(1)));
  EXPECT_THAT((*inputs)[1].AsInt64s(),
              testing::Each(testing::AllOf(testing::Ge(0), testing::Lt(2))));
  EXPECT_THAT((*inputs)[2].AsInt64s(), testing::Each(1));
  EXPECT_THAT((*inputs)[3].AsDoubles(), testing::Each(testing::Ne(0)));
}

}  // namespace
}  // namespace plait
