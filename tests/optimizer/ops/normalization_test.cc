#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/optimizer/ops/op_testing.h"

// Values of normalizations and Softmax, against ONNX Runtime's (rounded) or worked out by hand.
namespace plait {
namespace {

using ::testing::ElementsAre;

TEST(NormalizationTest, LayerNormalizationMatchesOnnxRuntime) {
  EXPECT_THAT(Results("%y, %m, %s = LayerNormalization(%i0, %i1, %i2)",
                      {Mixed({2, 3}), Counting({3}), Counting({3})}),
              AreNear({-0.16247582, 4.5574465, 2.6512573, 2.2247443, 2, -0.67423296, -1.6666667, 1,
                       0.34874272, 0.30618608}));
}

TEST(NormalizationTest, InstanceNormalizationMatchesOnnxRuntime) {
  EXPECT_THAT(Results("%y = InstanceNormalization(%i0, %i1, %i2) {epsilon=0.5}",
                      {Mixed({1, 2, 4}), Counting({2}), Counting({2})}),
              AreNear({-0.2909944, 1.5163977, 0.48360223, 2.2909944, 2.3849, -0.69430125, 4.694301,
                       1.6150998}));
}

TEST(NormalizationTest, BatchNormalizationMatchesOnnxRuntime) {
  EXPECT_THAT(Results("%y = BatchNormalization(%i0, %i1, %i2, %i3, %i4) {epsilon=0.5}",
                      {Mixed({1, 2, 2}), Counting({2}), Counting({2}), Mixed({2}), Counting({2})}),
              AreNear({1, 6.715476, -3.0596442, 5.794733}));
}

TEST(SoftmaxTest, NormalizesOneAxis) {
  EXPECT_THAT(Results("%y = Softmax(%i0) {axis=0}", {Mixed({2, 3})}),
              AreNear({4.5397868e-05, 0.7310586, 0.7310586, 0.9999546, 0.26894143, 0.26894143}));
  EXPECT_THAT(Results("%y = LogSoftmax(%i0)", {Mixed({2, 3})}),
              AreNear({-7.019045, -0.01904499, -4.019045, -0.01847933, -4.0184793, -8.018479}));
}

TEST(SoftmaxTest, DoesNotOverflow) {
  EXPECT_THAT(Results("%y = Softmax(%i0)", {Floats({2}, {1000, 1000})}), ElementsAre(0.5, 0.5));
  EXPECT_THAT(Results("%y = LogSoftmax(%i0)", {Floats({2}, {-1000, 1000})}), ElementsAre(-2000, 0));
}

}  // namespace
}  // namespace plait
