#include <limits>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "optimizer/ops/shared/op_spec.h"

// How old forms come into the IR and leave it again.
namespace plait {
namespace {

using ::testing::ElementsAre;

VersionedNode NodeOf(int opset, Attributes attributes, std::vector<TensorType> input_types) {
  VersionedNode node;
  node.opset = opset;
  node.attributes = std::move(attributes);
  for (TensorType& type : input_types) {
    node.present.push_back(true);
    node.constants.emplace_back();
    node.input_types.push_back(std::move(type));
  }
  return node;
}

TensorType Float(Shape shape) { return {DataType::kFloat32, std::move(shape)}; }

absl::Status Raise(OpKind op, VersionedNode* node) { return SpecOf(op).raise(node); }
absl::Status Lower(OpKind op, VersionedNode* node) { return SpecOf(op).lower(node); }

TEST(RaiseReduceTest, AxesBecomeAnInput) {
  VersionedNode node = NodeOf(12, {{"axes", std::vector<int64_t>{1}}}, {Float({2, 3})});
  ASSERT_TRUE(Raise(OpKind::kReduceSum, &node).ok());
  EXPECT_FALSE(node.attributes.Has("axes"));
  ASSERT_EQ(node.constants.size(), 2);
  EXPECT_THAT(node.constants[1]->AsInt64s(), ElementsAre(1));
  EXPECT_TRUE(node.present[1]);
  EXPECT_EQ(node.input_types[1], (TensorType{DataType::kInt64, {1}}));
}

TEST(RaiseReduceTest, SumChangedAtThirteenTheOthersAtEighteen) {
  VersionedNode sum = NodeOf(13, {{"axes", std::vector<int64_t>{1}}}, {Float({2, 3})});
  ASSERT_TRUE(Raise(OpKind::kReduceSum, &sum).ok());
  EXPECT_EQ(sum.constants.size(), 1);
  VersionedNode mean = NodeOf(17, {{"axes", std::vector<int64_t>{1}}}, {Float({2, 3})});
  ASSERT_TRUE(Raise(OpKind::kReduceMean, &mean).ok());
  EXPECT_EQ(mean.constants.size(), 2);
}

TEST(LowerReduceTest, AxesBecomeAnAttributeThatCountsFromTheFront) {
  const Tensor axes = Tensor::Int64s({-1});
  VersionedNode node =
      NodeOf(7, {{"noop_with_empty_axes", int64_t{0}}}, {Float({2, 3}), axes.type()});
  node.constants[1] = axes;
  ASSERT_TRUE(Lower(OpKind::kReduceMax, &node).ok());
  EXPECT_THAT(node.attributes.Ints("axes"), ElementsAre(1));
  EXPECT_FALSE(node.attributes.Has("noop_with_empty_axes"));
  EXPECT_EQ(node.present.size(), 1);
}

TEST(LowerReduceTest, ReducingNothingCannotBeSaidBeforeEighteen) {
  VersionedNode node = NodeOf(17, {{"noop_with_empty_axes", int64_t{1}}}, {Float({2, 3})});
  EXPECT_TRUE(absl::IsUnimplemented(Lower(OpKind::kReduceMax, &node)));
}

struct AutoPadCase {
  const char* auto_pad;
  int64_t stride;
  std::vector<int64_t> pads;
};

TEST(RaiseConvTest, AutoPadBecomesPads) {
  const std::vector<AutoPadCase> cases = {
      {"SAME_UPPER", 1, {1, 2}}, {"SAME_LOWER", 1, {2, 1}}, {"SAME_UPPER", 2, {1, 1}},
      {"VALID", 2, {}},          {"NOTSET", 1, {}},
  };
  for (const AutoPadCase& c : cases) {
    VersionedNode node = NodeOf(
        28, {{"auto_pad", std::string(c.auto_pad)}, {"strides", std::vector<int64_t>{c.stride}}},
        {Float({1, 2, 6}), Float({1, 2, 4})});
    ASSERT_TRUE(Raise(OpKind::kConv, &node).ok());
    EXPECT_FALSE(node.attributes.Has("auto_pad"));
    EXPECT_EQ(node.attributes.Ints("pads"), c.pads) << c.auto_pad << " " << c.stride;
  }
}

TEST(RaiseConvTransposeTest, WantedExtentsBecomePadsAndOutputPadding) {
  struct ExtentCase {
    const char* auto_pad;
    std::vector<int64_t> output_shape;
    std::vector<int64_t> pads;
    int64_t output_padding;
  };
  // 3 elements by a kernel of 4 with stride 3 write 10.
  const std::vector<ExtentCase> cases = {
      {"NOTSET", {7}, {2, 1}, 0},    {"SAME_UPPER", {7}, {1, 2}, 0},
      {"NOTSET", {12}, {0, 0}, 2},   {"NOTSET", {1, 2, 9}, {1, 0}, 0},
      {"SAME_UPPER", {}, {0, 1}, 0}, {"SAME_LOWER", {}, {1, 0}, 0},
  };
  for (const ExtentCase& c : cases) {
    Attributes attributes = {{"auto_pad", std::string(c.auto_pad)},
                             {"strides", std::vector<int64_t>{3}}};
    if (!c.output_shape.empty()) attributes.Set("output_shape", c.output_shape);
    VersionedNode node = NodeOf(11, attributes, {Float({1, 2, 3}), Float({2, 2, 4})});
    ASSERT_TRUE(Raise(OpKind::kConvTranspose, &node).ok());
    EXPECT_FALSE(node.attributes.Has("output_shape"));
    EXPECT_EQ(node.attributes.Ints("pads"), c.pads);
    EXPECT_EQ(node.attributes.Ints("output_padding"), std::vector<int64_t>{c.output_padding});
  }
}

TEST(RaiseConvTransposeTest, ExtentsThatNoWindowReachesStayUnknown) {
  VersionedNode node =
      NodeOf(11, {{"output_shape", std::vector<int64_t>{14}}, {"strides", std::vector<int64_t>{3}}},
             {Float({1, 2, 3}), Float({2, 2, 4})});
  EXPECT_TRUE(absl::IsUnimplemented(Raise(OpKind::kConvTranspose, &node)));
  node.attributes.Set("output_shape", std::vector<int64_t>{0});
  EXPECT_TRUE(absl::IsInvalidArgument(Raise(OpKind::kConvTranspose, &node)));
}

TEST(RaiseGridSampleTest, ModesHadTheNamesOfImages) {
  VersionedNode node = NodeOf(16, {}, {Float({1, 1, 2, 2}), Float({1, 1, 1, 2})});
  ASSERT_TRUE(Raise(OpKind::kGridSample, &node).ok());
  EXPECT_EQ(node.attributes.String("mode", ""), "linear");
  ASSERT_TRUE(Lower(OpKind::kGridSample, &node).ok());
  EXPECT_EQ(node.attributes.String("mode", ""), "bilinear");
}

TEST(LowerLstmTest, TheLayoutCameWithFourteen) {
  VersionedNode node = NodeOf(7, {{"layout", int64_t{0}}}, {Float({1, 1, 1})});
  ASSERT_TRUE(Lower(OpKind::kLSTM, &node).ok());
  EXPECT_FALSE(node.attributes.Has("layout"));
  node.attributes.Set("layout", int64_t{1});
  EXPECT_TRUE(absl::IsUnimplemented(Lower(OpKind::kLSTM, &node)));
}

TEST(RaiseConvTest, AutoPadKeepsTheExtentOverTheStride) {
  // Larger strides than kernels need no padding, and the extent is still rounded up.
  VersionedNode node = NodeOf(11,
                              {{"auto_pad", std::string("SAME_UPPER")},
                               {"ceil_mode", int64_t{1}},
                               {"kernel_shape", std::vector<int64_t>{1}},
                               {"strides", std::vector<int64_t>{2}}},
                              {Float({1, 2, 5})});
  ASSERT_TRUE(Raise(OpKind::kMaxPool, &node).ok());
  EXPECT_THAT(node.attributes.Ints("pads"), ElementsAre(0, 0));
  const auto types = InferTypes(OpKind::kMaxPool, node.attributes, node.input_types, {}, 1);
  ASSERT_TRUE(types.ok()) << types.status();
  EXPECT_EQ((*types)[0].shape, (Shape{1, 2, 3}));
}

TEST(RaisePoolTest, WithoutPaddingTheExtentIsRoundedAsTheNodeSays) {
  for (const auto& [ceil_mode, extent] : {std::pair(0, 2), std::pair(1, 3)}) {
    VersionedNode node = NodeOf(11,
                                {{"auto_pad", std::string("VALID")},
                                 {"ceil_mode", int64_t{ceil_mode}},
                                 {"kernel_shape", std::vector<int64_t>{3}},
                                 {"strides", std::vector<int64_t>{2}}},
                                {Float({1, 2, 6})});
    ASSERT_TRUE(Raise(OpKind::kMaxPool, &node).ok());
    EXPECT_FALSE(node.attributes.Has("auto_pad"));
    const auto types = InferTypes(OpKind::kMaxPool, node.attributes, node.input_types, {}, 1);
    ASSERT_TRUE(types.ok()) << types.status();
    EXPECT_EQ((*types)[0].shape, (Shape{1, 2, extent}));
  }
}

TEST(RaiseSliceTest, BeforeElevenTheLargestNumberIsTheEndBackwardsToo) {
  constexpr int64_t kLargest = std::numeric_limits<int64_t>::max();
  constexpr int64_t kLeast = std::numeric_limits<int64_t>::min();
  const Tensor starts = Tensor::Int64s({-1, 0, -1, 4});
  const Tensor ends = Tensor::Int64s({kLargest, kLargest, std::numeric_limits<int32_t>::max(), 1});
  const Tensor axes = Tensor::Int64s({0, 1, 2, 3});
  const Tensor steps = Tensor::Int64s({-1, 1, -2, -1});
  for (const int opset : {10, 11}) {
    VersionedNode node = NodeOf(
        opset, {}, {Float({5, 5, 5, 5}), starts.type(), ends.type(), axes.type(), steps.type()});
    node.constants = {std::nullopt, starts, ends, axes, steps};
    ASSERT_TRUE(Raise(OpKind::kSlice, &node).ok());
    if (opset == 10) {
      EXPECT_THAT(node.constants[2]->AsInt64s(), ElementsAre(kLeast, kLargest, kLeast, 1));
    } else {
      EXPECT_EQ(node.constants[2], ends);
    }
  }
}

TEST(RaiseSliceTest, EndsOfThirtyTwoBitsKeepTheirType) {
  const int64_t largest = std::numeric_limits<int32_t>::max();
  const int64_t one = 1;
  const int64_t minus_one = -1;
  const auto of = [](const int64_t& value) {
    return Tensor::FromInt64s({DataType::kInt32, {1}}, absl::MakeConstSpan(&value, 1));
  };
  VersionedNode node = NodeOf(10, {}, std::vector<TensorType>(5, of(one).type()));
  node.input_types[0] = Float({5});
  node.constants = {std::nullopt, of(minus_one), of(largest), of(one), of(minus_one)};
  ASSERT_TRUE(Raise(OpKind::kSlice, &node).ok());
  EXPECT_EQ(node.constants[2]->type().dtype, DataType::kInt32);
  EXPECT_THAT(node.constants[2]->AsInt64s(), ElementsAre(std::numeric_limits<int32_t>::min()));
}

TEST(RaiseConvTest, RefusesAnUnknownAutoPad) {
  VersionedNode node =
      NodeOf(11, {{"auto_pad", std::string("MAYBE")}}, {Float({1, 2, 6}), Float({1, 2, 4})});
  EXPECT_TRUE(absl::IsInvalidArgument(Raise(OpKind::kConv, &node)));
}

TEST(RaiseSoftmaxTest, FlattenedRowsOfOneAxisBecomeThatAxis) {
  const struct {
    Shape shape;
    int64_t axis;
    int64_t raised;
  } kCases[] = {{{2, 3}, 1, 1}, {{1, 1000, 1, 1}, 1, 1}, {{2, 3, 4}, 2, 2}, {{2, 1, 4}, 1, 2}};
  for (const auto& c : kCases) {
    VersionedNode node = NodeOf(11, {{"axis", c.axis}}, {Float(c.shape)});
    ASSERT_TRUE(Raise(OpKind::kSoftmax, &node).ok());
    EXPECT_EQ(node.attributes.Int("axis", 99), c.raised) << ShapeToString(c.shape);
  }
}

TEST(RaiseSoftmaxTest, TheDefaultAxisChanged) {
  VersionedNode old_node = NodeOf(12, {}, {Float({2, 3, 1})});
  ASSERT_TRUE(Raise(OpKind::kLogSoftmax, &old_node).ok());
  EXPECT_EQ(old_node.attributes.Int("axis", -1), 1);
  VersionedNode new_node = NodeOf(13, {}, {Float({2, 3, 1})});
  ASSERT_TRUE(Raise(OpKind::kLogSoftmax, &new_node).ok());
  EXPECT_EQ(new_node.attributes.Int("axis", -1), -1);
}

TEST(RaiseSoftmaxTest, RowsOverSeveralAxesHaveNoNewForm) {
  VersionedNode node = NodeOf(11, {}, {Float({2, 3, 4})});
  EXPECT_TRUE(absl::IsUnimplemented(Raise(OpKind::kSoftmax, &node)));
}

TEST(LowerSoftmaxTest, OnlyTheLastLongAxis) {
  VersionedNode last = NodeOf(11, {}, {Float({2, 3, 4})});
  ASSERT_TRUE(Lower(OpKind::kSoftmax, &last).ok());
  EXPECT_EQ(last.attributes.Int("axis", 99), 2);
  VersionedNode first = NodeOf(11, {{"axis", int64_t{0}}}, {Float({2, 3, 4})});
  EXPECT_TRUE(absl::IsUnimplemented(Lower(OpKind::kSoftmax, &first)));
}

TEST(BatchNormalizationVersionTest, SpatialGoesAndTrainingIsRefused) {
  const std::vector<TensorType> types = {Float({1, 2}), Float({2}), Float({2}), Float({2}),
                                         Float({2})};
  VersionedNode node = NodeOf(7, {{"spatial", int64_t{1}}}, types);
  ASSERT_TRUE(Raise(OpKind::kBatchNormalization, &node).ok());
  EXPECT_FALSE(node.attributes.Has("spatial"));
  VersionedNode per_element = NodeOf(7, {{"spatial", int64_t{0}}}, types);
  EXPECT_TRUE(absl::IsUnimplemented(Raise(OpKind::kBatchNormalization, &per_element)));
  VersionedNode training = NodeOf(9, {}, types);
  training.output_count = 5;
  EXPECT_TRUE(absl::IsUnimplemented(Raise(OpKind::kBatchNormalization, &training)));
}

TEST(GemmVersionTest, BeforeElevenTheBiasIsWrittenOut) {
  VersionedNode node = NodeOf(9, {}, {Float({2, 2}), Float({2, 2})});
  ASSERT_TRUE(Lower(OpKind::kGemm, &node).ok());
  ASSERT_EQ(node.constants.size(), 3);
  EXPECT_THAT(node.constants[2]->AsDoubles(), ElementsAre(0));
}

TEST(PoolVersionTest, WhatAnOpsetLacksIsRefusedOrDropped) {
  VersionedNode plain = NodeOf(
      9, {{"ceil_mode", int64_t{0}}, {"dilations", std::vector<int64_t>{1}}}, {Float({1, 1, 4})});
  ASSERT_TRUE(Lower(OpKind::kMaxPool, &plain).ok());
  EXPECT_TRUE(plain.attributes.empty());
  VersionedNode dilated = NodeOf(18, {{"dilations", std::vector<int64_t>{2}}}, {Float({1, 1, 4})});
  EXPECT_TRUE(absl::IsUnimplemented(Lower(OpKind::kAveragePool, &dilated)));
  EXPECT_TRUE(Lower(OpKind::kMaxPool, &dilated).ok());
}

}  // namespace
}  // namespace plait
