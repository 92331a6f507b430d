#include "gpu_worker/executor/make_inputs.h"

#include <cmath>
#include <numeric>

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

// The values drawn for input %i of a graph.
std::vector<int64_t> IndicesOf(const std::string& text) {
  return (*MakeInputs(ParseTyped(text), 5))[0].AsInt64s();
}

TEST(MakeInputsTest, IndicesFitEveryAxisThatTheyIndex) {
  EXPECT_THAT(IndicesOf(R"(graph {
  input %i: int64[5,2]
  input %x: float32[1,8,4]
  %y = GatherND(%x, %i)
  output %y
})"),
              testing::Each(0));
  const std::vector<int64_t> in_batch = IndicesOf(R"(graph {
  input %i: int64[1,40,1]
  input %x: float32[1,8,4]
  %y = GatherND(%x, %i) {batch_dims=1}
  output %y
})");
  EXPECT_THAT(in_batch, testing::Each(testing::AllOf(testing::Ge(0), testing::Lt(8))));
  EXPECT_THAT(in_batch, testing::Contains(testing::Gt(1)));
  EXPECT_THAT(IndicesOf(R"(graph {
  input %i: int64[5,4]
  input %x: float32[1,4]
  %y = GatherElements(%x, %i)
  output %y
})"),
              testing::Each(0));
  EXPECT_THAT(IndicesOf(R"(graph {
  input %i: int64[5,2]
  input %x: float32[1,8,4]
  input %u: float32[5,4]
  %y = ScatterND(%x, %i, %u)
  output %y
})"),
              testing::Each(0));
  EXPECT_THAT(IndicesOf(R"(graph {
  input %i: int64[1,4]
  input %x: float32[4,1]
  input %u: float32[1,4]
  %t = Transpose(%x) {perm=[1,0]}
  %y = ScatterElements(%t, %i, %u)
  output %y
})"),
              testing::Each(0));
  EXPECT_THAT(IndicesOf(R"(graph {
  input %i: int64[1,6]
  input %x: float32[1,2,6,4]
  input %c: float32[1,2]
  %y = RotaryEmbedding(%x, %c, %c, %i)
  output %y
})"),
              testing::Each(0));
}

TEST(MakeInputsTest, IndicesFitWhereTheyWereJoinedAndMoved) {
  EXPECT_THAT(IndicesOf(R"(graph {
  input %i: int64[1,5]
  input %x: float32[8,1,4]
  const %first: int64[1,5] = [3,3,3,3,3]
  %both = Concat(%first, %i) {axis=0}
  %pairs = Transpose(%both) {perm=[1,0]}
  %y = GatherND(%x, %pairs)
  output %y
})"),
              testing::Each(0));
}

TEST(MakeInputsTest, AnIndexIsInRangeWhateverItsName) {
  EXPECT_THAT(IndicesOf(R"(graph {
  input %masked_positions: int64[3]
  input %x: float32[1,4]
  %y = Gather(%x, %masked_positions)
  output %y
})"),
              testing::Each(0));
}

// An image of bytes, as a model takes it that normalizes by itself.
TEST(MakeInputsTest, BytesThatAreCastToFloatsTakeAllValues) {
  const auto drawn = [](const std::string& name, const std::string& dtype) {
    const std::string text = "graph {\n input %" + name + ": " + dtype + R"([1,8,8,3]
  %t = Transpose(%)" + name + R"() {perm=[0,3,1,2]}
  %y = Cast(%t) {to=1}
  output %y
})";
    return (*MakeInputs(ParseTyped(text), 5))[0].AsInt64s();
  };
  EXPECT_THAT(drawn("image", "uint8"), testing::Contains(testing::Gt(200)));
  EXPECT_THAT(drawn("image", "int8"), testing::Contains(testing::Lt(-100)));
  EXPECT_THAT(drawn("flags", "int32"), testing::Each(testing::Lt(2)));
  EXPECT_THAT(drawn("mask", "uint8"), testing::Each(1));
}

TEST(MakeInputsTest, BytesThatAreCastAndIndexAreIndices) {
  EXPECT_THAT(IndicesOf(R"(graph {
  input %i: uint8[40]
  input %x: float32[3,4]
  %longs = Cast(%i) {to=7}
  %y = Gather(%x, %longs)
  %f = Cast(%i) {to=1}
  output %y, %f
})"),
              testing::Each(testing::Lt(3)));
}

double MeanOf(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double DeviationOf(std::vector<double> values) {
  const double mean = MeanOf(values);
  for (double& value : values) value = (value - mean) * (value - mean);
  return std::sqrt(MeanOf(values));
}

// More than one block of elements.
TEST(MakeInputsTest, FloatsAreDrawnFromFourDistributionsInTurn) {
  const Graph graph = ParseTyped("graph {\n input %x: float32[3,10000]\n output %x\n}");
  const auto draw = [&](int index) { return (*MakeInputs(graph, 5, index))[0].AsDoubles(); };
  EXPECT_THAT(draw(0), testing::Each(testing::AllOf(testing::Ge(-1), testing::Lt(1))));
  EXPECT_NEAR(DeviationOf(draw(0)), 1 / std::sqrt(3.0), 0.02);
  EXPECT_NEAR(MeanOf(draw(1)), 0, 0.1);
  EXPECT_NEAR(DeviationOf(draw(1)), 3, 0.1);
  EXPECT_THAT(draw(2), testing::Each(testing::Ge(0)));
  EXPECT_NEAR(MeanOf(draw(2)), std::sqrt(2 / M_PI), 0.02);
  EXPECT_NEAR(MeanOf(draw(3)), 0, 0.03);
  EXPECT_NEAR(DeviationOf(draw(3)), 1, 0.03);
  EXPECT_THAT(draw(4), testing::Each(testing::AllOf(testing::Ge(-1), testing::Lt(1))));
  EXPECT_NE(draw(4), draw(0));
  EXPECT_EQ(draw(1), draw(1));
}

TEST(MakeInputsTest, MasksAreOnesInEveryDistribution) {
  const Graph graph = ParseTyped("graph {\n input %mask: float16[7]\n output %mask\n}");
  for (int index = 0; index < 4; ++index) {
    EXPECT_THAT((*MakeInputs(graph, 5, index))[0].AsDoubles(), testing::Each(1));
  }
}

}  // namespace
}  // namespace plait
