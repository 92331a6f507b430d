#include "optimizer/onnx/weights_in_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "optimizer/onnx/import.h"
#include "tests/optimizer/onnx/model_text.h"

namespace plait {
namespace {

using testing::SizeIs;

using Offsets = absl::btree_map<Digest, int64_t>;

// The offsets in a file, after a look at what lies there.
Offsets OffsetsIn(const std::string& file) {
  const absl::StatusOr<Model> model = ImportOnnx(file);
  EXPECT_TRUE(model.ok()) << model.status();
  if (!model.ok()) return {};
  const absl::StatusOr<Offsets> offsets = FindWeightsInFile(*model, file);
  EXPECT_TRUE(offsets.ok()) << offsets.status();
  for (const auto& [digest, offset] : *offsets) {
    EXPECT_EQ(DigestOf(absl::string_view(file).substr(static_cast<size_t>(offset),
                                                      static_cast<size_t>(digest.size_bytes))),
              digest);
  }
  return *offsets;
}

// A model that adds the weight w, of 300 elements, to its input.
std::string ModelWith(const onnx::TensorProto& weight) {
  return GraphBytes(
      13, "g (float[300] x) => (float[300] y) { f = Cast<to = 1>(w) y = Add(x, f) }",
      [&](onnx::ModelProto* model) { *model->mutable_graph()->add_initializer() = weight; });
}

onnx::TensorProto Weight(onnx::TensorProto::DataType type) {
  onnx::TensorProto weight;
  weight.set_name("w");
  weight.set_data_type(type);
  weight.add_dims(type == onnx::TensorProto::UINT8 ? 3000 : 300);
  return weight;
}

TEST(WeightsInFileTest, FindsRawDataAndPackedFloats) {
  onnx::TensorProto floats = Weight(onnx::TensorProto::FLOAT);
  onnx::TensorProto doubles = Weight(onnx::TensorProto::DOUBLE);
  for (int i = 0; i < 300; ++i) {
    floats.add_float_data(0.5f * static_cast<float>(i));
    doubles.add_double_data(0.25 * i);
  }
  EXPECT_THAT(OffsetsIn(ModelWith(FloatTensor("w", {300}))), SizeIs(1));
  EXPECT_THAT(OffsetsIn(ModelWith(floats)), SizeIs(1));
  EXPECT_THAT(OffsetsIn(ModelWith(doubles)), SizeIs(1));
}

TEST(WeightsInFileTest, FindsWhatConstantNodesHold) {
  EXPECT_THAT(OffsetsIn(GraphBytes(
                  13,
                  "g (float[300] x) => (float[300] y) { c = Constant<value = "
                  "float[1] {1.0}>() y = Add(x, c) }",
                  [](onnx::ModelProto* model) {
                    *model->mutable_graph()->mutable_node(0)->mutable_attribute(0)->mutable_t() =
                        FloatTensor("any name", {300});
                  })),
              SizeIs(1));
}

TEST(WeightsInFileTest, LeavesOutWhatLiesThereInAnotherForm) {
  onnx::TensorProto integers = Weight(onnx::TensorProto::INT64);
  onnx::TensorProto halves = Weight(onnx::TensorProto::FLOAT16);
  halves.clear_dims();
  halves.add_dims(600);
  for (int i = 0; i < 300; ++i) integers.add_int64_data(i);
  for (int i = 0; i < 600; ++i) halves.add_int32_data(0x3c00);
  EXPECT_THAT(OffsetsIn(ModelWith(integers)), SizeIs(0));
  EXPECT_THAT(OffsetsIn(GraphBytes(13, "g (float[1] x) => (float[1] y) { y = Relu(x) }",
                                   [&](onnx::ModelProto* model) {
                                     *model->mutable_graph()->add_initializer() = halves;
                                   })),
              SizeIs(0));
}

TEST(WeightsInFileTest, FindsOnePlaceOfEqualWeights) {
  EXPECT_THAT(
      OffsetsIn(GraphBytes(13, "g (float[300] x) => (float[300] y) { a = Add(x, w) y = Add(a, v) }",
                           [](onnx::ModelProto* model) {
                             *model->mutable_graph()->add_initializer() = FloatTensor("w", {300});
                             *model->mutable_graph()->add_initializer() = FloatTensor("v", {300});
                           })),
      SizeIs(1));
}

// A parser takes the last of several values, and the first one has the same size.
TEST(WeightsInFileTest, FindsTheDataThatTheParserTook) {
  onnx::TensorProto first = FloatTensor("w", {300}, 1);
  const std::string last = FloatTensor("w", {300}, 2).raw_data();
  first.mutable_unknown_fields()->AddLengthDelimited(9, last);
  const std::string file = ModelWith(first);
  const Offsets offsets = OffsetsIn(file);
  ASSERT_THAT(offsets, SizeIs(1));
  EXPECT_EQ(offsets.begin()->second, static_cast<int64_t>(file.find(last)));
}

TEST(WeightsInFileTest, RefusesWhatIsNoModel) {
  const absl::StatusOr<Model> model = ImportOnnx(ModelWith(FloatTensor("w", {300})));
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_TRUE(absl::IsInvalidArgument(FindWeightsInFile(*model, "\x3a\xff").status()));
}

}  // namespace
}  // namespace plait
