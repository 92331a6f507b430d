#include <limits>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "optimizer/ir/text.h"
#include "tests/optimizer/ops/op_testing.h"

// Operators of integers of 8 bits beyond ONNX's published cases, worked out by hand.
namespace plait {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Tensor Integers(DataType dtype, Shape shape, std::vector<int64_t> values) {
  return Tensor::FromInt64s({dtype, std::move(shape)}, values);
}

TEST(QuantizeLinearTest, TakesTheEvenOneOfTwoNearestAndStaysWithinTheType) {
  const std::string scale = "const %s: float32[] = [2.0]\nconst %z: int8[] = [1]\n";
  const float infinity = std::numeric_limits<float>::infinity();
  EXPECT_THAT(Results("%y = QuantizeLinear(%i0, %s, %z)",
                      {Floats({8}, {1, 3, 5, -1, 1000, -1000, infinity, -infinity})}, scale),
              ElementsAre(1, 3, 3, 1, 127, -128, 127, -128));
  EXPECT_THAT(Results("%y = QuantizeLinear(%i0, %s, %z)",
                      {Floats({1}, {std::numeric_limits<float>::quiet_NaN()})}, scale),
              ElementsAre(-128));
}

TEST(QuantizeLinearTest, EachBlockHasItsScale) {
  EXPECT_THAT(
      Results("%y = QuantizeLinear(%i0, %i1) {axis=0, block_size=2, output_dtype=5}",
              {Floats({3, 2}, {1, 2, 3, 4, 5, 6}), Floats({2, 2}, {1, 0.5f, 0.25f, 0.125f})}),
      ElementsAre(1, 4, 3, 8, 20, 48));
}

TEST(DequantizeLinearTest, TakesOffTheZeroPointOfItsPlaceAlongTheAxis) {
  EXPECT_THAT(Results("%y = DequantizeLinear(%i0, %i1, %i2) {axis=0}",
                      {Integers(DataType::kUint8, {2, 2}, {0, 255, 10, 20}), Floats({2}, {0.5f, 2}),
                       Integers(DataType::kUint8, {2}, {128, 10})}),
              ElementsAre(-64, 63.5, 0, 20));
}

TEST(DequantizeLinearTest, OneScaleAndOneZeroPointMayBeAListOrNot) {
  for (const auto& [scale, zero_point] :
       {std::pair("[]", "[1]"), std::pair("[1]", "[]"), std::pair("[1]", "[1]")}) {
    const std::string constants = absl::StrCat("const %s: float32", scale,
                                               " = [2.0]\nconst %z: int8", zero_point, " = [1]\n");
    EXPECT_THAT(Results("%y = QuantizeLinear(%i0, %s, %z)", {Floats({2}, {1, 3})}, constants),
                ElementsAre(1, 3));
    EXPECT_THAT(Results("%y = DequantizeLinear(%i0, %s, %z)",
                        {Integers(DataType::kInt8, {2}, {1, 3})}, constants),
                ElementsAre(0, 4));
  }
}

TEST(DynamicQuantizeLinearTest, ZerosHaveAScaleAndZeroIsExact) {
  EXPECT_THAT(Results("%y, %s, %z = DynamicQuantizeLinear(%i0)", {Floats({2}, {0, 0})}),
              ElementsAre(0, 0, 1, 0));
  EXPECT_THAT(Results("%y, %s, %z = DynamicQuantizeLinear(%i0)", {Floats({3}, {-51, 0, 204})}),
              ElementsAre(0, 51, 255, 1, 51));
}

TEST(MatMulIntegerTest, RowsAndColumnsHaveZeroPoints) {
  // [9 18; 3 0] less [1; 3], times [-128 127; 5 7] less [0 1].
  EXPECT_THAT(
      Results("%y = MatMulInteger(%i0, %i1, %i2, %i3)",
              {Integers(DataType::kUint8, {2, 2}, {9, 18, 3, 0}),
               Integers(DataType::kInt8, {2, 2}, {-128, 127, 5, 7}),
               Integers(DataType::kUint8, {2}, {1, 3}), Integers(DataType::kInt8, {2}, {0, 1})}),
      ElementsAre(-939, 1110, -15, -18));
}

TEST(ConvIntegerTest, PaddingIsWhatTheZeroPointStandsFor) {
  EXPECT_THAT(
      Results("%y = ConvInteger(%i0, %i1, %i2) {pads=[1,1]}",
              {Integers(DataType::kUint8, {1, 1, 2}, {5, 7}),
               Integers(DataType::kUint8, {1, 1, 2}, {2, 3}), Integers(DataType::kUint8, {}, {4})}),
      ElementsAre(3, 11, 6));
}

TEST(QLinearConvTest, ChannelsHaveScalesAndTheBiasThatOfTheSums) {
  const std::string constants =
      "const %xs: float32[] = [0.5]\nconst %xz: uint8[] = [1]\nconst %w: int8[2,1,1] = [2,3]\n"
      "const %ws: float32[2] = [1.0,2.0]\nconst %wz: int8[2] = [0,1]\nconst %ys: float32[] = "
      "[2.0]\n"
      "const %yz: int8[] = [-1]\nconst %b: int32[2] = [4,-1]\n";
  // (2 * 2 + 4) / 4 - 1 and (2 * 5 + 4) / 4 - 1, (2 * 2 - 1) / 2 - 1 and (2 * 5 - 1) / 2 - 1.
  EXPECT_THAT(Results("%y = QLinearConv(%i0, %xs, %xz, %w, %ws, %wz, %ys, %yz, %b)",
                      {Integers(DataType::kUint8, {1, 1, 2}, {3, 6})}, constants),
              ElementsAre(1, 3, 1, 3));
}

TEST(QuantizationTest, RefusesScalesThatDoNotFit) {
  const auto types = [](const std::string& scale, const std::string& attributes) {
    return OutputTypes(absl::StrCat("graph {\ninput %x: float32[4,6]\ninput %s: ", scale,
                                    "\n%y = QuantizeLinear(%x, %s) {", attributes,
                                    "}\noutput %y\n}\n"));
  };
  EXPECT_EQ(types("float32[]", ""), "uint8[4,6]");
  EXPECT_EQ(types("float32[6]", ""), "uint8[4,6]");
  EXPECT_THAT(types("float32[4]", ""), HasSubstr("INVALID_ARGUMENT"));
  EXPECT_THAT(types("float32[4]", "axis=2"), HasSubstr("INVALID_ARGUMENT"));
  EXPECT_THAT(types("float32[4,3]", "block_size=3"), HasSubstr("INVALID_ARGUMENT"));
  EXPECT_THAT(types("float32[4,6]", "block_size=-1"), HasSubstr("INVALID_ARGUMENT"));
  EXPECT_THAT(types("float32[]", "output_dtype=17"), HasSubstr("not type 17"));
  EXPECT_THAT(types("float32[]", "output_dtype=-1"), HasSubstr("not type -1"));
}

}  // namespace
}  // namespace plait
