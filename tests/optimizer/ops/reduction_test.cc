#include <limits>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/optimizer/ops/op_testing.h"

// Values of the Reduce operators, against ONNX Runtime's (rounded) or worked out by hand.
namespace plait {
namespace {

using ::testing::ElementsAre;

TEST(ReduceTest, EveryReductionOverTheLastAxis) {
  const Tensor x = Floats({2, 2}, {3, -1, 2, 4});
  const char axes[] = "const %axes: int64[1] = [-1]\n";
  EXPECT_THAT(Results("%y = ReduceSum(%i0, %axes)", {x}, axes), ElementsAre(2, 6));
  EXPECT_THAT(Results("%y = ReduceMean(%i0, %axes)", {x}, axes), ElementsAre(1, 3));
  EXPECT_THAT(Results("%y = ReduceMax(%i0, %axes)", {x}, axes), ElementsAre(3, 4));
  EXPECT_THAT(Results("%y = ReduceMin(%i0, %axes)", {x}, axes), ElementsAre(-1, 2));
  EXPECT_THAT(Results("%y = ReduceProd(%i0, %axes)", {x}, axes), ElementsAre(-3, 8));
}

TEST(ReduceTest, WithoutAxesEverythingOrNothing) {
  const Tensor x = Floats({2, 2}, {3, -1, 2, 4});
  EXPECT_THAT(Results("%y = ReduceSum(%i0)", {x}), ElementsAre(8));
  EXPECT_THAT(Results("%y = ReduceSum(%i0) {noop_with_empty_axes=1}", {x}),
              ElementsAre(3, -1, 2, 4));
}

TEST(ReduceTest, NothingReducesToTheNeutralElement) {
  const Tensor x = Floats({0}, {});
  EXPECT_THAT(Results("%y = ReduceSum(%i0)", {x}), ElementsAre(0));
  EXPECT_THAT(Results("%y = ReduceProd(%i0)", {x}), ElementsAre(1));
  EXPECT_THAT(Results("%y = ReduceMax(%i0)", {x}),
              ElementsAre(-std::numeric_limits<double>::infinity()));
}

// Runtimes disagree, and one of them may run the model.
TEST(ReduceTest, TheMeanOfNothingIsUnimplemented) {
  const TensorType x = {DataType::kFloat32, {2, 0}};
  const Tensor axes = Tensor::Int64s({1});
  const Tensor* const constants[] = {nullptr, &axes};
  const auto types = InferTypes(OpKind::kReduceMean, {}, {x, axes.type()}, constants, 1);
  EXPECT_TRUE(absl::IsUnimplemented(types.status())) << types.status();
}

// They are held in int64, of which those above its largest are negative.
TEST(ReduceTest, OrdersAndDividesLargeUnsignedNumbers) {
  const int64_t numbers[] = {1, std::numeric_limits<int64_t>::min()};
  const Tensor x = Tensor::FromInt64s({DataType::kUint64, {2}}, numbers);
  EXPECT_THAT(Results("%y = ReduceMax(%i0) {keepdims=0}", {x}), ElementsAre(0x1p63));
  EXPECT_THAT(Results("%y = ReduceMin(%i0) {keepdims=0}", {x}), ElementsAre(1));
  EXPECT_THAT(Results("%y = ReduceMean(%i0) {keepdims=0}", {x}), ElementsAre(0x1p62));
}

// As of ONNX Runtime, and of onnx's evaluator where that does not overflow.
TEST(ReduceTest, CutsRootsOfIntegers) {
  const char axes[] = "const %axes: int64[1] = [1]\n";
  const int64_t numbers[] = {3, 4, 0, 1, -5, 7, 100000, 100000, 3};
  for (const DataType dtype : {DataType::kInt32, DataType::kInt64}) {
    const Tensor x = Tensor::FromInt64s({dtype, {3, 3}}, numbers);
    EXPECT_THAT(Results("%y = ReduceL2(%i0, %axes)", {x}, axes), ElementsAre(5, 8, 141421));
  }
  const int64_t large[] = {std::numeric_limits<int64_t>::min(), 0};
  const Tensor x = Tensor::FromInt64s({DataType::kUint64, {2}}, large);
  EXPECT_THAT(Results("%y = ReduceL2(%i0) {keepdims=0}", {x}), ElementsAre(0x1p63));
  const Tensor largest = Tensor::FromInt64s({DataType::kInt32, {2}}, {2147483647, 2147483647});
  EXPECT_THAT(Results("%y = ReduceL2(%i0) {keepdims=0}", {largest}), ElementsAre(2147483647));
}

// Of these the model's other nodes are optimized, and a runtime that knows runs them.
TEST(ReduceTest, LogarithmsOfIntegersAreUnimplemented) {
  const TensorType x = {DataType::kInt64, {2, 3}};
  for (const OpKind op : {OpKind::kReduceLogSum, OpKind::kReduceLogSumExp}) {
    const auto types = InferTypes(op, {}, {x}, {nullptr}, 1);
    EXPECT_TRUE(absl::IsUnimplemented(types.status())) << types.status();
  }
}

}  // namespace
}  // namespace plait
