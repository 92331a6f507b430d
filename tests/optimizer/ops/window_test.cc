#include <numeric>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/optimizer/ops/op_testing.h"

// Values of convolution and pooling, against ONNX Runtime's (rounded) or worked out by hand.
namespace plait {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(ConvTest, PadsStridesAndDilates) {
  EXPECT_THAT(Results("%y = Conv(%i0, %i1) {pads=[1,0,2,1], strides=[2,1], dilations=[1,2]}",
                      {Mixed({1, 2, 4, 5}), Mixed({2, 2, 3, 2})}),
              AreNear({-20, 26,  17, -26, 46, -44, 20,  63,  -5,  35, -24, -12,
                       -35, -15, 5,  23,  17, -35, -21, -18, -10, 6,  0,   0}));
}

TEST(ConvTest, GroupsAndAddsBias) {
  EXPECT_THAT(Results("%y = Conv(%i0, %i1, %i2) {group=2, strides=[2], pads=[1,0]}",
                      {Mixed({1, 4, 6}), Mixed({4, 2, 3}), Counting({4})}),
              AreNear({-9, -36, 13, -10, -21, 69, -27, -23, 53, -18, -26, 58}));
}

TEST(ConvTest, TilesOfAnySizeGiveTheSameAsTheDefinition) {
  // 13 output channels and 19 x 17 positions leave edges of every kind in the tiled product.
  const Tensor x = RandomTensor({DataType::kFloat64, {1, 3, 19, 17}}, 1);
  const Tensor w = RandomTensor({DataType::kFloat64, {13, 3, 1, 1}}, 2);
  const std::vector<double> y = Results("%y = Conv(%i0, %i1)", {x, w});
  ASSERT_EQ(y.size(), 13 * 19 * 17);
  for (int64_t m = 0; m < 13; ++m) {
    for (int64_t p = 0; p < 19 * 17; ++p) {
      double sum = 0;
      for (int64_t c = 0; c < 3; ++c)
        sum += x.at<double>(c * 19 * 17 + p) * w.at<double>(m * 3 + c);
      ASSERT_DOUBLE_EQ(y[m * 19 * 17 + p], sum) << m << " " << p;
    }
  }
}

// The sum of products of equal places.
double InnerProduct(const std::vector<double>& a, const std::vector<double>& b) {
  EXPECT_EQ(a.size(), b.size());
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

// <Conv(x), y> = <x, ConvTranspose(y)>: what one reads, the other writes.
TEST(ConvTransposeTest, IsTheAdjointOfConv) {
  const std::string attributes = " {group=2, pads=[1,0,2,3], strides=[2,3], dilations=[1,2]";
  const Tensor x = RandomTensor({DataType::kFloat64, {2, 4, 7, 11}}, 1);
  const Tensor w = RandomTensor({DataType::kFloat64, {6, 2, 2, 3}}, 2);
  const Tensor y = RandomTensor({DataType::kFloat64, {2, 6, 5, 4}}, 3);
  const std::vector<double> forward = Results("%y = Conv(%i0, %i1)" + attributes + "}", {x, w});
  const std::vector<double> back =
      Results("%y = ConvTranspose(%i0, %i1)" + attributes + ", output_padding=[0,0]}", {y, w});
  EXPECT_NEAR(InnerProduct(forward, y.AsDoubles()), InnerProduct(back, x.AsDoubles()), 1e-9);
}

TEST(ConvTransposeTest, LeavesGapsWhereWindowsDoNotReach) {
  EXPECT_THAT(Results("%y = ConvTranspose(%i0, %i1, %i2) {strides=[3], output_padding=[1]}",
                      {Counting({1, 1, 3}), Floats({1, 1, 2}, {1, 10}), Floats({1}, {0.5f})}),
              ElementsAre(1.5, 10.5, 0.5, 2.5, 20.5, 0.5, 3.5, 30.5, 0.5));
}

TEST(AveragePoolTest, CountsNoPaddingByDefault) {
  EXPECT_THAT(
      Results(
          "%y = AveragePool(%i0) {kernel_shape=[3,4], strides=[2,3], pads=[1,0,1,0], ceil_mode=1}",
          {Mixed({1, 1, 5, 6})}),
      AreNear({0.375, 0, 0.58333333, -0.55555556, -0.125, -0.5}));
}

TEST(AveragePoolTest, CountsPaddingButNotWhatCeilModeReaches) {
  // The windows cover [pad -5 2], [2 -2 5] and [5 pad nothing].
  EXPECT_THAT(
      Results("%y = AveragePool(%i0) {kernel_shape=[3], strides=[2], pads=[1,1], ceil_mode=1, "
              "count_include_pad=1}",
              {Mixed({1, 1, 4})}),
      AreNear({-1, 5.0 / 3, 2.5}));
}

// Two elements lack one: rounded up, there is a window of what is there.
TEST(AveragePoolTest, AWindowMayHangOverAllOfTheInput) {
  const std::string window = "(%i0) {kernel_shape=[3], strides=[2], ceil_mode=1}";
  const Tensor x = Floats({1, 1, 2}, {1, 2});
  EXPECT_THAT(Results("%y = AveragePool" + window, {x}), ElementsAre(1.5));
  EXPECT_THAT(Results("%y = MaxPool" + window, {x}), ElementsAre(2));
}

TEST(AveragePoolTest, AWindowThatLacksAStrideIsRefused) {
  for (const char* attributes : {"kernel_shape=[4], strides=[2], ceil_mode=1",
                                 "kernel_shape=[3], strides=[2], ceil_mode=0"}) {
    EXPECT_THAT(OutputTypes(absl::StrCat(R"(graph {
  input %x: float32[1,1,2]
  %y = MaxPool(%x) {)",
                                         attributes, R"(}
  output %y
})")),
                HasSubstr("elements, the padded input has 2"));
  }
}

TEST(AveragePoolTest, Dilates) {
  EXPECT_THAT(Results("%y = AveragePool(%i0) {kernel_shape=[2], dilations=[3], pads=[1,1]}",
                      {Mixed({1, 1, 5})}),
              AreNear({-2, 0, 1.5, -2}));
}

// As onnx.reference pads, and as SAME_UPPER does: as far as the taps reach, which is beyond the
// kernel's own size.
TEST(AveragePoolTest, PadsAsFarAsTheTapsReach) {
  const std::string window = "(%i0) {kernel_shape=[2], dilations=[4], pads=[2,2]}";
  const Tensor x = Counting({1, 1, 8});
  EXPECT_THAT(Results("%y = AveragePool" + window, {x}), ElementsAre(3, 4, 3, 4, 5, 6, 5, 6));
  EXPECT_THAT(Results("%y = MaxPool" + window, {x}), ElementsAre(3, 4, 5, 6, 7, 8, 5, 6));
}

std::string StatusOfPool(const std::string& op, int64_t input, const std::string& attributes) {
  return OutputTypes(absl::StrCat("graph {\n  input %x: float32[1,1,", input, "]\n  %y = ", op,
                                  "(%x) {", attributes, "}\n  output %y\n}\n"));
}

TEST(AveragePoolTest, RefusesPadsBeyondTheTaps) {
  EXPECT_EQ(StatusOfPool("AveragePool", 8, "kernel_shape=[2], dilations=[4], pads=[4,4]"),
            "float32[1,1,12]");
  EXPECT_THAT(StatusOfPool("AveragePool", 8, "kernel_shape=[2], dilations=[4], pads=[5,0]"),
              HasSubstr("pads must be smaller than the kernel's span of 5"));
  EXPECT_THAT(StatusOfPool("AveragePool", 8, "kernel_shape=[2], pads=[2,0]"),
              HasSubstr("pads must be smaller than the kernel's span of 2"));
}

// The taps at -1 and 2 have both elements between them.
TEST(MaxPoolTest, AWindowAroundTheInputHasNoMaximum) {
  const std::string attributes = "kernel_shape=[2], dilations=[3], pads=[1,1]";
  EXPECT_EQ(StatusOfPool("AveragePool", 2, attributes), "float32[1,1,1]");
  EXPECT_THAT(StatusOfPool("MaxPool", 2, attributes), HasSubstr("no maximum"));
  EXPECT_EQ(StatusOfPool("MaxPool", 3, attributes), "float32[1,1,2]");
  // Far apart, and yet one of the three taps always lies on the input.
  EXPECT_EQ(StatusOfPool("MaxPool", 2, "kernel_shape=[3], dilations=[9], pads=[9,9]"),
            "float32[1,1,2]");
}

TEST(MaxPoolTest, GivesTheIndexInTheWholeTensor) {
  EXPECT_THAT(
      Results("%y, %i = MaxPool(%i0) {kernel_shape=[2,2], strides=[1,2], pads=[0,1,1,0]}",
              {Mixed({1, 2, 3, 4})}),
      AreNear({1, 4, 1, 4, -4, 3, 2, 5, 3, 4, 3, -1, 4, 6, 4, 6, 8, 9, 12, 14, 20, 17, 20, 21}));
}

TEST(MaxPoolTest, CountsIndicesByColumnsOnRequest) {
  EXPECT_THAT(Results("%y, %i = MaxPool(%i0) {kernel_shape=[2,2], strides=[1,2], storage_order=1}",
                      {Mixed({1, 2, 3, 4})}),
              AreNear({2, 5, 3, 4, 4, 5, 4, 2, 3, 9, 5, 7, 16, 18, 16, 23}));
}

TEST(GlobalPoolTest, ReducesEachChannel) {
  const Tensor x = Floats({1, 2, 2, 2}, {1, 2, 3, 6, -1, -2, -3, -4});
  EXPECT_THAT(Results("%y = GlobalAveragePool(%i0)", {x}), ElementsAre(3, -2.5));
  EXPECT_THAT(Results("%y = GlobalMaxPool(%i0)", {x}), ElementsAre(6, -1));
}

}  // namespace
}  // namespace plait
