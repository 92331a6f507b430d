#include "server/search_child/other_shapes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "optimizer/onnx/import.h"
#include "tests/optimizer/onnx/model_text.h"

namespace plait {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;
using testing::UnorderedElementsAre;

Model ModelOf(const std::string& inputs) {
  return *ImportOnnx(GraphBytes(17, "g (" + inputs + ") => (float[A, B] z) { z = Relu(x) }"));
}

// The first dimensions of x.
std::vector<int64_t> SizesOf(const std::vector<Bindings>& shapes) {
  std::vector<int64_t> sizes;
  for (const Bindings& bindings : shapes) sizes.push_back(bindings.at("x")[0]);
  return sizes;
}

class OtherShapesTest : public testing::Test {
 protected:
  std::vector<Bindings> Others(const Model& model, const Bindings& planned) const {
    const absl::StatusOr<Bound> bound = Bind(model, planned);
    EXPECT_TRUE(bound.ok()) << bound.status();
    return OtherShapesOf(model, options_, bound->graph);
  }
  void AddRange(const std::string& input, std::vector<std::pair<int64_t, int64_t>> dims) {
    v1::ShapeRange& range = (*options_.mutable_shape_ranges())[input];
    for (const auto& [low, high] : dims) {
      v1::DimRange& dim = *range.add_dims();
      dim.set_low(low);
      dim.set_high(high);
    }
  }

  v1::OptimizeOptions options_;
};

TEST_F(OtherShapesTest, AModelOfOneShapeHasNone) {
  EXPECT_THAT(Others(ModelOf("float[2, 8] x"), {}), IsEmpty());
}

TEST_F(OtherShapesTest, OfARangeThoseToWhichThePlanIsTheNearest) {
  const Model model = ModelOf("float[N, 8] x");
  AddRange("x", {{1, 8}, {8, 8}});
  EXPECT_THAT(Others(model, {{"x", {1, 8}}}), IsEmpty());
  EXPECT_THAT(Others(model, {{"x", {2, 8}}}), IsEmpty());
  EXPECT_THAT(SizesOf(Others(model, {{"x", {4, 8}}})), UnorderedElementsAre(3, 5));
  EXPECT_THAT(SizesOf(Others(model, {{"x", {8, 8}}})), UnorderedElementsAre(6, 7));
}

TEST_F(OtherShapesTest, EndsOfALongRange) {
  const Model model = ModelOf("float[N, 8] x");
  AddRange("x", {{16, 32}, {8, 8}});
  EXPECT_THAT(SizesOf(Others(model, {{"x", {16, 8}}})), ElementsAre(22, 19));
  EXPECT_THAT(SizesOf(Others(model, {{"x", {32, 8}}})), ElementsAre(23, 27));
}

TEST_F(OtherShapesTest, DimensionsOfOneSymbolChangeTogether) {
  const Model model = ModelOf("float[N, L] x, float[N, 3] y, float[7] c");
  AddRange("x", {{4, 16}, {5, 5}});
  const std::vector<Bindings> others = Others(model, {{"x", {8, 5}}});
  ASSERT_EQ(others.size(), 2u);
  EXPECT_THAT(others[0], ElementsAre(Pair("x", Shape{6, 5}), Pair("y", Shape{6, 3})));
  EXPECT_THAT(others[1], ElementsAre(Pair("x", Shape{11, 5}), Pair("y", Shape{11, 3})));
}

TEST_F(OtherShapesTest, WithoutARangeAllThatTheModelLeavesOpen) {
  const Model model = ModelOf("float[N, L] x");
  const std::vector<Bindings> others = Others(model, {{"x", {1, 128}}});
  ASSERT_EQ(others.size(), 2u);
  EXPECT_THAT(others[0], ElementsAre(Pair("x", Shape{2, 86})));
  EXPECT_THAT(others[1], ElementsAre(Pair("x", Shape{3, 107})));
  EXPECT_THAT(SizesOf(Others(model, {{"x", {2, 128}}})), ElementsAre(1, 3));
}

TEST_F(OtherShapesTest, OnlyGraphsThatThereAre) {
  const Model model = *ImportOnnx(
      GraphBytes(17, "g (float[N, 8] x) => (float[A, B] z) { z = Reshape(x, s) }",
                 [](::onnx::ModelProto* proto) {
                   *proto->mutable_graph()->add_initializer() = Int64Tensor("s", {4, 4});
                 }));
  EXPECT_THAT(GraphsAt(model, {{{"x", {3, 8}}}}, 0), IsEmpty());
  EXPECT_EQ(GraphsAt(model, {{{"x", {2, 8}}}, {{"x", {3, 8}}}}, 0).size(), 1u);
  EXPECT_THAT(GraphsAt(model, {{{"x", {2, 8}}}}, 100), IsEmpty());
}

}  // namespace
}  // namespace plait
