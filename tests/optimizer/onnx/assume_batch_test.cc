#include "optimizer/onnx/assume_batch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "optimizer/onnx/import.h"
#include "tests/optimizer/onnx/model_text.h"

namespace plait {
namespace {

using testing::ElementsAre;
using testing::Pair;

Model ModelOfInputs(const char* inputs) {
  return *ImportOnnx(
      GraphBytes(17, std::string("g (") + inputs + ") => (float[2] z) { z = Relu(fixed) }"));
}

TEST(AssumeBatchTest, KnowsABatchByItsNameOrItsPlace) {
  for (const char* const name : {"batch", "N", "batch_size", "bs", "Batch", "batchSize"}) {
    EXPECT_TRUE(IsBatchLike({.symbol = name}, 2)) << name;
  }
  EXPECT_TRUE(IsBatchLike({}, 0));
  EXPECT_TRUE(IsBatchLike({.symbol = "unk__123"}, 0));
  EXPECT_FALSE(IsBatchLike({}, 1));
  EXPECT_FALSE(IsBatchLike({.symbol = "width"}, 1));
  // A recurrence's inputs begin with their length.
  EXPECT_FALSE(IsBatchLike({.symbol = "sequence"}, 0));
  EXPECT_FALSE(IsBatchLike({.symbol = "max_len"}, 0));
  EXPECT_FALSE(IsBatchLike({.size = 4}, 0));
}

TEST(AssumeBatchTest, BatchesBecomeOne) {
  std::vector<std::string> assumed;
  const Bindings shapes = WithBatchOfOne(
      ModelOfInputs("float[2] fixed, float[batch, 3] x, float[5, N] y"), {}, &assumed);
  EXPECT_THAT(shapes, ElementsAre(Pair("x", Shape{1, 3}), Pair("y", Shape{5, 1})));
  EXPECT_THAT(assumed, ElementsAre("dimension 0 (batch) of x", "dimension 1 (N) of y"));
}

TEST(AssumeBatchTest, OtherOpenDimensionsStay) {
  std::vector<std::string> assumed;
  EXPECT_TRUE(
      WithBatchOfOne(ModelOfInputs("float[2] fixed, float[batch, width] x"), {}, &assumed).empty());
  EXPECT_TRUE(assumed.empty());
}

TEST(AssumeBatchTest, WhatIsGivenCounts) {
  std::vector<std::string> assumed;
  const Model model = ModelOfInputs("float[2] fixed, float[batch, width] x, float[batch, width] y");
  const Bindings shapes = WithBatchOfOne(model, {{"x", {4, 8}}}, &assumed);
  // Settled by a symbol: nothing is assumed, and Bind finds it by itself.
  EXPECT_THAT(shapes, ElementsAre(Pair("x", Shape{4, 8})));
  EXPECT_TRUE(assumed.empty());
}

}  // namespace
}  // namespace plait
