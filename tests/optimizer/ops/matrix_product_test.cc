#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/optimizer/ops/op_testing.h"

// Values of products of matrices and Attention, which is made of two, against ONNX Runtime's
// (rounded) or worked out by hand.
namespace plait {
namespace {

using ::testing::ElementsAre;

TEST(MatMulTest, BroadcastsBatchesAndVectors) {
  const Tensor b = Mixed({2, 3, 2});
  EXPECT_THAT(Results("%y = MatMul(%i0, %i1)", {Mixed({2, 1, 2, 3}), b}),
              ElementsAre(19, 6, -30, 24, -26, 16, 19, 18, -24, 20, -18, 16, 20, 20, 21, 22));
  EXPECT_THAT(Results("%y = MatMul(%i0, %i1)", {Mixed({3}), b}), ElementsAre(19, 6, -26, 16));
  EXPECT_THAT(Results("%y = MatMul(%i0, %i1)", {Counting({3}), Counting({3})}), ElementsAre(14));
}

TEST(MatMulTest, SumsOfNothingAreZero) {
  EXPECT_THAT(Results("%y = MatMul(%i0, %i1)", {Counting({2, 0}), Counting({0, 2})}),
              ElementsAre(0, 0, 0, 0));
}

TEST(MatMulTest, IntegersWrap) {
  const Tensor a = Tensor::Of<int32_t>({1, 1}, {1 << 30});
  const Tensor b = Tensor::Of<int32_t>({1, 1}, {4});
  EXPECT_THAT(Results("%y = MatMul(%i0, %i1)", {a, b}), ElementsAre(0));
}

TEST(GemmTest, TransposesScalesAndBroadcasts) {
  EXPECT_THAT(Results("%y = Gemm(%i0, %i1, %i2) {transA=1, transB=1, alpha=0.5, beta=2.0}",
                      {Mixed({3, 2}), Mixed({2, 3}), Counting({2, 1})}),
              ElementsAre(11.5, -13, 7, 16));
}

TEST(AttentionTest, CausalMaskAndSharedKeyHeads) {
  EXPECT_THAT(Results("%y = Attention(%i0, %i1, %i2) {is_causal=1}",
                      {Mixed({1, 2, 2, 2}, 4), Mixed({1, 1, 3, 2}, 4), Mixed({1, 1, 3, 1})}),
              AreNear({-5, -0.8129755, -5, -0.5930793}));
}

TEST(AttentionTest, PackedHeadsScaleAndSoftcap) {
  EXPECT_THAT(Results("%y = Attention(%i0, %i1, %i2) {q_num_heads=2, kv_num_heads=2, scale=1.0, "
                      "softcap=2.0}",
                      {Mixed({1, 2, 4}, 4), Mixed({1, 3, 4}, 4), Mixed({1, 3, 2})}),
              AreNear({-2.1362271, 2.0742333, -2.0568383, 2.935666}));
}

TEST(AttentionTest, AQueryWithoutKeysGetsZeros) {
  EXPECT_THAT(Results("%y = Attention(%i0, %i0, %i0, %m)", {Counting({1, 1, 2, 1})},
                      "const %m: bool[2,2] = [0,0,0,1]\n"),
              ElementsAre(0, 2));
}

}  // namespace
}  // namespace plait
