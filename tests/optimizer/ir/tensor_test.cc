#include "optimizer/ir/tensor.h"

#include <cmath>
#include <limits>

#include "base/limits.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace plait {
namespace {

using testing::ElementsAre;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

std::vector<int64_t> Rounded(DataType dtype, absl::Span<const double> values) {
  const TensorType type{dtype, {static_cast<int64_t>(values.size())}};
  return Tensor::FromDoubles(type, values).AsInt64s();
}

TEST(TensorTest, CopiesShareTheBytes) {
  const Tensor tensor = Tensor::Int64s({1, 2, 3});
  const Tensor copy = tensor;
  EXPECT_EQ(copy.bytes().data(), tensor.bytes().data());
  EXPECT_EQ(copy, tensor);
}

TEST(TensorTest, LooksAtBytesThatAnOwnerKeepsAlive) {
  auto owner = std::make_shared<std::string>(8, '\0');
  const Tensor tensor({DataType::kFloat32, {2}}, *owner, owner);
  EXPECT_EQ(owner.use_count(), 2);
  EXPECT_EQ(tensor.bytes().data(), owner->data());
}

TEST(TensorDeathTest, RefusesBytesOfAnotherSize) {
  EXPECT_DEATH(Tensor({DataType::kFloat32, {2}}, std::string(7, '\0')), "bytes");
}

TEST(TensorTest, DoublesSaturateToIntegersAndLoseTheirFraction) {
  const double huge = 1e300;
  EXPECT_THAT(Rounded(DataType::kInt8, {1.9, -1.9, huge, -huge, kInfinity, std::nan("")}),
              ElementsAre(1, -1, 127, -128, 127, 0));
  EXPECT_THAT(Rounded(DataType::kUint8, {-1, 255.9, 256}), ElementsAre(0, 255, 255));
  EXPECT_THAT(Rounded(DataType::kInt64, {huge, -huge, 0x1.0p63}),
              ElementsAre(std::numeric_limits<int64_t>::max(), std::numeric_limits<int64_t>::min(),
                          std::numeric_limits<int64_t>::max()));
  EXPECT_THAT(Rounded(DataType::kUint64, {-1, huge}), ElementsAre(0, -1));
  EXPECT_THAT(Rounded(DataType::kBool, {0, 0.5, std::nan("")}), ElementsAre(0, 1, 1));
}

TEST(TensorTest, IntegersWrap) {
  EXPECT_THAT(Tensor::FromInt64s({DataType::kInt8, {3}}, {128, -129, 5}).AsInt64s(),
              ElementsAre(-128, 127, 5));
  EXPECT_THAT(Tensor::FromInt64s({DataType::kUint64, {1}}, {-1}).AsInt64s(), ElementsAre(-1));
  EXPECT_THAT(Tensor::FromInt64s({DataType::kUint64, {1}}, {-1}).AsDoubles(),
              ElementsAre(0x1.0p64));
}

TEST(TensorTest, EveryNumberTypeRoundTripsSmallIntegers) {
  const std::vector<double> values = {0, 1, 2, 100};
  for (int i = 1; i <= 16; ++i) {
    const DataType dtype = static_cast<DataType>(i);
    if (!IsFloat(dtype) && !IsInteger(dtype)) continue;
    const Tensor tensor = Tensor::FromDoubles({dtype, {4}}, values);
    EXPECT_EQ(tensor.AsDoubles(), values) << DataTypeName(dtype);
    EXPECT_EQ(Tensor::FromInt64s({dtype, {4}}, {0, 1, 2, 100}), tensor) << DataTypeName(dtype);
  }
}

TEST(TensorTest, Float32RoundsToNearestEven) {
  const double between = 1 + 0x1.0p-24;
  EXPECT_EQ(Tensor::FromDoubles({DataType::kFloat32, {}}, {between}).at<float>(0), 1.0f);
}

TEST(DataTypeTest, NamesRoundTrip) {
  for (int i = 0; i <= 16; ++i) {
    const DataType dtype = static_cast<DataType>(i);
    EXPECT_EQ(DataTypeFromName(DataTypeName(dtype)), dtype);
  }
  EXPECT_EQ(DataTypeFromName("float"), std::nullopt);
}

TEST(TensorTypeTest, RefusesShapesWhoseProductOverflows) {
  EXPECT_TRUE(IsValidShape({kTensorElementsMax}));
  EXPECT_FALSE(IsValidShape({kTensorElementsMax, 2}));
  EXPECT_FALSE(IsValidShape({0, kTensorElementsMax, kTensorElementsMax}));
  EXPECT_FALSE(IsValidShape({-1}));
  EXPECT_TRUE(IsValidShape(Shape(kTensorRankMax, 1)));
  EXPECT_FALSE(IsValidShape(Shape(kTensorRankMax + 1, 1)));
}

TEST(TensorTypeTest, FingerprintCoversTypeAndShape) {
  const TensorType type{DataType::kFloat32, {2, 3}};
  EXPECT_EQ(FingerprintOf(type), FingerprintOf(TensorType{DataType::kFloat32, {2, 3}}));
  for (const TensorType& other :
       {TensorType{DataType::kInt32, {2, 3}}, TensorType{DataType::kFloat32, {3, 2}},
        TensorType{DataType::kFloat32, {2, 3, 1}}, TensorType{DataType::kFloat32, {}}}) {
    EXPECT_NE(FingerprintOf(type), FingerprintOf(other)) << other.ToString();
  }
}

}  // namespace
}  // namespace plait
