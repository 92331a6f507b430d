#include <limits>
#include <numeric>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "optimizer/ops/shared/resize_taps.h"
#include "tests/optimizer/ops/call_operator.h"

namespace plait {
namespace {

using ::testing::DoubleEq;
using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::Pointwise;

constexpr float kInfinity = std::numeric_limits<float>::infinity();

AttributeValue Word(absl::string_view word) { return std::string(word); }

Tensor Scales(const std::vector<float>& values) {
  return Floats({static_cast<int64_t>(values.size())}, values);
}

// 1, 2, 3, ...
Tensor Count(Shape shape) {
  std::vector<float> values(static_cast<size_t>(ElementsOf(shape)));
  std::iota(values.begin(), values.end(), 1.0f);
  return Floats(std::move(shape), values);
}

Call ByScales(Tensor x, Attributes attributes, const std::vector<float>& scales) {
  return {OpKind::kResize, std::move(attributes), {std::move(x), Argument(), Scales(scales)}};
}

Call BySizes(Tensor x, Attributes attributes, const std::vector<int64_t>& sizes) {
  return {OpKind::kResize,
          std::move(attributes),
          {std::move(x), Argument(), Argument(), Int64s(sizes)}};
}

TEST(ResizeTest, InfersShapes) {
  const Tensor x = Count({1, 1, 2, 10});
  const auto policy = [](absl::string_view word) {
    return Attributes{{"axes", Ints({2, -1})}, {"keep_aspect_ratio_policy", Word(word)}};
  };
  EXPECT_EQ(InferredText(ByScales(x, {}, {1, 1, 1.5f, 0.25f})), "float32[1,1,3,2]");
  // In float32, where 0.7 * 10 is 7.
  EXPECT_EQ(InferredText(ByScales(x, {}, {1, 1, 1, 0.7f})), "float32[1,1,2,7]");
  EXPECT_EQ(InferredText(BySizes(x, {}, {1, 1, 5, 3})), "float32[1,1,5,3]");
  EXPECT_EQ(InferredText(BySizes(x, {{"axes", Ints({3})}}, {4})), "float32[1,1,2,4]");
  EXPECT_EQ(InferredText(BySizes(x, policy("stretch"), {3, 5})), "float32[1,1,3,5]");
  EXPECT_EQ(InferredText(BySizes(x, policy("not_larger"), {3, 5})), "float32[1,1,1,5]");
  EXPECT_EQ(InferredText(BySizes(x, policy("not_smaller"), {3, 5})), "float32[1,1,3,15]");
}

TEST(ResizeTest, TakesTheNearestElement) {
  const auto resize = [](absl::string_view coordinates, absl::string_view nearest, int64_t size) {
    return Doubles(BySizes(
        Count({4}),
        {{"coordinate_transformation_mode", Word(coordinates)}, {"nearest_mode", Word(nearest)}},
        {size}));
  };
  EXPECT_THAT(resize("asymmetric", "floor", 8), ElementsAre(1, 1, 2, 2, 3, 3, 4, 4));
  EXPECT_THAT(resize("asymmetric", "ceil", 8), ElementsAre(1, 2, 2, 3, 3, 4, 4, 4));
  // Halves: 0.5 lies between the elements 0 and 1, 2.5 between 2 and 3.
  EXPECT_THAT(resize("half_pixel", "round_prefer_floor", 2), ElementsAre(1, 3));
  EXPECT_THAT(resize("half_pixel", "round_prefer_ceil", 2), ElementsAre(2, 4));
  EXPECT_THAT(resize("align_corners", "round_prefer_floor", 2), ElementsAre(1, 4));
  EXPECT_THAT(Integers({OpKind::kResize, {}, {Int64s({5, 6}), Argument(), Scales({2})}}),
              ElementsAre(5, 5, 6, 6));
}

// The values of ONNX's documentation, resize_upsample_scales_linear and its kind.
TEST(ResizeTest, Interpolates) {
  const Attributes linear = {{"mode", Word("linear")}};
  const Attributes corners = {{"coordinate_transformation_mode", Word("align_corners")},
                              {"mode", Word("linear")}};
  EXPECT_THAT(
      Doubles(ByScales(Count({2, 2}), linear, {2, 2})),
      ElementsAre(1, 1.25, 1.75, 2, 1.5, 1.75, 2.25, 2.5, 2.5, 2.75, 3.25, 3.5, 3, 3.25, 3.75, 4));
  EXPECT_THAT(Doubles(BySizes(Count({3}), corners, {5})), ElementsAre(1, 1.5, 2, 2.5, 3));
  // Of 0.6 * 4 = 2.4 elements the last would lie at the corner.
  EXPECT_THAT(Doubles(ByScales(Count({4}), corners, {0.6f})),
              Pointwise(DoubleNear(1e-6), {1.0, 3.142857}));
  EXPECT_THAT(
      Doubles(ByScales(Count({4}), {{"antialias", int64_t{1}}, {"mode", Word("linear")}}, {0.5f})),
      Pointwise(DoubleNear(1e-6), {13.0 / 8, 27.0 / 8}));
  EXPECT_THAT(Doubles(ByScales(Count({4}), {{"mode", Word("cubic")}}, {0.5f})),
              ElementsAre(1.40625, 3.59375));
}

TEST(ResizeTest, CropsAndExtrapolates) {
  const Attributes crop = {{"coordinate_transformation_mode", Word("tf_crop_and_resize")},
                           {"extrapolation_value", 9.0f},
                           {"mode", Word("linear")}};
  const auto resize = [&](std::vector<float> roi, int64_t size) {
    return Doubles({OpKind::kResize, crop, {Count({5}), Scales(roi), Argument(), Int64s({size})}});
  };
  EXPECT_THAT(resize({0.25, 0.75}, 3), ElementsAre(2, 3, 4));
  EXPECT_THAT(resize({0, 1.5}, 3), ElementsAre(1, 4, 9));
  EXPECT_THAT(resize({0.5, 1}, 1), ElementsAre(4));
}

TEST(ResizeTest, FindsTaps) {
  Resampling cubic;
  cubic.mode = Resampling::Mode::kCubic;
  cubic.exclude_outside = true;
  const AxisTaps taps = TapsOf(cubic, {.input = 4, .output = 8, .scale = 2, .extent = 8});
  EXPECT_EQ(taps.count, 4);
  // Element 0 lies at -0.25: its taps are -2, -1, 0 and 1, the first two of which are outside.
  EXPECT_THAT(absl::MakeSpan(taps.elements).first(4), ElementsAre(0, 0, 0, 1));
  const double inside = 0.87890625 - 0.10546875;
  EXPECT_THAT(absl::MakeSpan(taps.weights).first(4),
              ElementsAre(0, 0, DoubleEq(0.87890625 / inside), DoubleEq(-0.10546875 / inside)));
}

TEST(ResizeTest, MeansTheSameInTheField) {
  const Call moved = ByScales(Count({2}), {}, {2});
  EXPECT_TRUE(Evaluate(moved, Numbers::kField).ok());
  EXPECT_TRUE(
      Evaluate(ByScales(Count({2}), {{"mode", Word("linear")}}, {2}), Numbers::kField).ok());
}

TEST(ResizeTest, RefusesHostileCalls) {
  const Tensor x = Count({2, 3});
  const Argument none;
  const Attributes linear = {{"mode", Word("linear")}};
  const Attributes larger = {{"keep_aspect_ratio_policy", Word("not_larger")}};
  const Attributes crop = {{"coordinate_transformation_mode", Word("tf_crop_and_resize")}};
  const TensorType computed{DataType::kFloat32, {2}};
  struct Row {
    std::string name;
    Call call;
    std::string expected;
  };
  const Row rows[] = {
      {"nothing wanted", {OpKind::kResize, {}, {x}}, kInvalid},
      {"empty lists", {OpKind::kResize, {}, {x, Scales({}), Scales({}), Int64s({})}}, kInvalid},
      {"both", {OpKind::kResize, {}, {x, none, Scales({1, 1}), Int64s({2, 3})}}, kInvalid},
      {"computed scales", {OpKind::kResize, {}, {x, none, computed}}, kUnimplemented},
      {"few scales", ByScales(x, {}, {2}), kInvalid},
      {"scale 0", ByScales(x, {}, {1, 0}), kInvalid},
      {"negative scale", ByScales(x, {}, {1, -1}), kInvalid},
      {"infinite scale", ByScales(x, {}, {1, kInfinity}), kInvalid},
      {"huge scale", ByScales(x, {}, {1, 1e30f}), kInvalid},
      {"large product", ByScales(x, {}, {1e8f, 1e8f}), kInvalid},
      {"integer scales", {OpKind::kResize, {}, {x, none, Int64s({1, 1})}}, kInvalid},
      {"few sizes", BySizes(x, {}, {2}), kInvalid},
      {"negative size", BySizes(x, {}, {2, -1}), kInvalid},
      {"huge size", BySizes(x, {}, {2, kInt64Max}), kInvalid},
      {"size of nothing", BySizes(Floats({0}, {}), {}, {1}), kInvalid},
      {"ratio of nothing", BySizes(x, larger, {0, 3}), kInvalid},
      {"axis", BySizes(x, {{"axes", Ints({2})}}, {2}), kInvalid},
      {"repeated axis", BySizes(x, {{"axes", Ints({1, -1})}}, {2, 2}), kInvalid},
      {"mode", BySizes(x, {{"mode", Word("area")}}, {2, 2}), kInvalid},
      {"coordinates", BySizes(x, {{"coordinate_transformation_mode", Word("x")}}, {2, 2}),
       kInvalid},
      {"nearest mode", BySizes(x, {{"nearest_mode", Word("x")}}, {2, 2}), kInvalid},
      {"policy", BySizes(x, {{"keep_aspect_ratio_policy", Word("x")}}, {2, 2}), kInvalid},
      {"nearest antialias", BySizes(x, {{"antialias", int64_t{1}}}, {2, 2}), kInvalid},
      {"no region", BySizes(x, crop, {2, 2}), kUnimplemented},
      {"short region", {OpKind::kResize, crop, {x, Scales({0, 1}), Scales({1, 1})}}, kInvalid},
      {"endless region",
       {OpKind::kResize, crop, {x, Scales({0, 0, 1, kInfinity}), Scales({1, 1})}},
       kInvalid},
      {"between integers", BySizes(Int64s({1, 2}), linear, {3}), kUnimplemented},
      {"no elements", ByScales(x, {}, {0.1f, 1}), "float32[0,3]"},
  };
  for (const Row& row : rows) EXPECT_EQ(InferredText(row.call), row.expected) << row.name;
}

// What the node of an old opset becomes; "" where that has no form.
std::string Raised(int opset, const Call& call) {
  VersionedNode node = Versioned(opset, call);
  if (!SpecOf(OpKind::kResize).raise(&node).ok()) return "";
  return node.attributes.String("coordinate_transformation_mode", "") + " " +
         node.attributes.String("nearest_mode", "");
}

TEST(ResizeTest, RaisesOldForms) {
  const Tensor x = Count({4});
  const auto ten = [&](std::vector<float> scales) {
    return Raised(10, {OpKind::kResize, {}, {x, Scales(scales)}});
  };
  EXPECT_EQ(ten({2, 1}), "asymmetric floor");
  EXPECT_EQ(ten({0.5, 1}), "asymmetric ceil");
  EXPECT_EQ(ten({0.5, 2}), "");
  const auto eleven = [&](absl::string_view nearest) {
    return Raised(11, {OpKind::kResize,
                       {{"coordinate_transformation_mode", Word("tf_half_pixel_for_nn")},
                        {"nearest_mode", Word(nearest)}},
                       {x, Scales({}), Scales({2})}});
  };
  EXPECT_EQ(eleven("floor"), "half_pixel round_prefer_ceil");
  EXPECT_EQ(eleven("round_prefer_floor"), "half_pixel ceil");
  EXPECT_EQ(eleven("ceil"), "");
}

TEST(ResizeTest, LowersAxesToListsForAll) {
  const Tensor x = Count({2, 4});
  const Call call{OpKind::kResize,
                  {{"antialias", int64_t{0}},
                   {"axes", Ints({1})},
                   {"coordinate_transformation_mode", Word("tf_crop_and_resize")}},
                  {x, Scales({0.25, 0.75}), Argument(), Int64s({3})}};
  VersionedNode node = Versioned(12, call);
  ASSERT_TRUE(SpecOf(OpKind::kResize).lower(&node).ok());
  EXPECT_FALSE(node.attributes.Has("axes"));
  EXPECT_FALSE(node.attributes.Has("antialias"));
  EXPECT_THAT(node.constants[1]->AsDoubles(), ElementsAre(0, 0.25, 1, 0.75));
  EXPECT_EQ(node.constants[2]->type().shape, Shape{0});
  EXPECT_THAT(node.constants[3]->AsInt64s(), ElementsAre(2, 3));
  node = Versioned(10, call);
  EXPECT_TRUE(absl::IsUnimplemented(SpecOf(OpKind::kResize).lower(&node)));
}

}  // namespace
}  // namespace plait
