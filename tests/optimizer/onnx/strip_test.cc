#include "optimizer/onnx/strip.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "optimizer/onnx/bind.h"
#include "optimizer/onnx/import.h"
#include "tests/optimizer/onnx/model_text.h"

namespace plait {
namespace {

using ::testing::HasSubstr;

// Weights as raw data and as a typed field, in an initializer and in a Constant node, one of them
// too small to be stripped and one that the IR lacks.
std::string ModelWithWeights() {
  return GraphBytes(13,
                    "g (float[300] x) => (float[300] y) { a = Add(x, w) b = Mul(a, v) "
                    "c = Constant<value = float[1] {1.0}>() d = Sub(b, c) e = Add(d, small) "
                    "y = Max(e, e) }",
                    [](onnx::ModelProto* model) {
                      onnx::GraphProto* graph = model->mutable_graph();
                      *graph->add_initializer() = FloatTensor("w", {300}, 1);
                      onnx::TensorProto* typed = graph->add_initializer();
                      typed->set_name("v");
                      typed->set_data_type(onnx::TensorProto::FLOAT);
                      typed->add_dims(300);
                      for (int i = 0; i < 300; ++i) typed->add_float_data(0.5f * i);
                      *graph->add_initializer() = FloatTensor("small", {3}, 1);
                      *graph->mutable_node(2)->mutable_attribute(0)->mutable_t() =
                          FloatTensor("", {300}, 7);
                      onnx::TensorProto* complex = graph->add_initializer();
                      complex->set_name("z");
                      complex->set_data_type(onnx::TensorProto::COMPLEX64);
                      complex->add_dims(400);
                      complex->set_raw_data(std::string(3200, 'z'));
                    });
}

WeightReader ReaderOf(const Stripped& stripped) {
  return [&stripped](const Digest& digest) -> absl::StatusOr<std::string> {
    return std::string(stripped.weights.at(digest));
  };
}

TEST(StripTest, RoundTripIsByteExact) {
  const std::string model = ModelWithWeights();
  const absl::StatusOr<Stripped> stripped = StripWeights(model);
  ASSERT_TRUE(stripped.ok()) << stripped.status();
  EXPECT_EQ(stripped->weights.size(), 3u);
  EXPECT_LT(stripped->skeleton.size() + 3000, model.size());
  const absl::StatusOr<std::string> again =
      MaterializeWeights(stripped->skeleton, ReaderOf(*stripped));
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(*again, model);
}

TEST(StripTest, TheSkeletonBindsToTheGraphOfTheModel) {
  const std::string bytes = GraphBytes(
      13, "g (float[300] x) => (float[300] y) { y = Add(x, w) }",
      [](auto* model) { *model->mutable_graph()->add_initializer() = FloatTensor("w", {300}); });
  const absl::StatusOr<Stripped> stripped = StripWeights(bytes);
  ASSERT_TRUE(stripped.ok()) << stripped.status();
  const absl::StatusOr<Model> whole = ImportOnnx(bytes);
  const absl::StatusOr<Model> skeleton = ImportOnnx(stripped->skeleton);
  ASSERT_TRUE(whole.ok() && skeleton.ok()) << skeleton.status();
  EXPECT_FALSE(whole->weightless());
  EXPECT_TRUE(skeleton->weightless());
  EXPECT_EQ(Bind(*whole, {})->graph.fingerprint(), Bind(*skeleton, {})->graph.fingerprint());
  EXPECT_EQ(whole->weights().digests(), skeleton->weights().digests());
  EXPECT_EQ(skeleton->weights()
                .Get(skeleton->weights().digests()[0], {DataType::kFloat32, {300}})
                .status()
                .code(),
            absl::StatusCode::kNotFound);
}

TEST(StripTest, AModelWithoutLargeWeightsStaysAsItIs) {
  const std::string model = GraphBytes(13, "g (float[2] x) => (float[2] y) { y = Relu(x) }");
  const absl::StatusOr<Stripped> stripped = StripWeights(model);
  ASSERT_TRUE(stripped.ok()) << stripped.status();
  EXPECT_EQ(stripped->skeleton, model);
  EXPECT_TRUE(stripped->weights.empty());
}

TEST(StripTest, RefusesWhatItCouldNotRestore) {
  // The graph's length in three bytes where two suffice.
  std::string model = GraphBytes(13, "g (float[2] x) => (float[2] y) { y = Relu(x) }");
  const size_t graph = model.find('\x3a');
  ASSERT_LT(static_cast<uint8_t>(model[graph + 1]), 0x80);
  model[graph + 1] = static_cast<char>(model[graph + 1] | 0x80);
  model.insert(graph + 2, 1, '\0');
  ASSERT_TRUE(ImportOnnx(model).ok());
  const absl::StatusOr<Stripped> stripped = StripWeights(model);
  EXPECT_EQ(stripped.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(stripped.status().message()), HasSubstr("shortest"));
}

TEST(StripTest, RefusesWeightsOfAnotherSize) {
  const absl::StatusOr<Stripped> stripped = StripWeights(ModelWithWeights());
  ASSERT_TRUE(stripped.ok());
  const auto wrong = [](const Digest&) -> absl::StatusOr<std::string> { return "short"; };
  EXPECT_EQ(MaterializeWeights(stripped->skeleton, wrong).status().code(),
            absl::StatusCode::kInvalidArgument);
  const auto none = [](const Digest&) -> absl::StatusOr<std::string> {
    return absl::NotFoundError("no such blob");
  };
  EXPECT_EQ(MaterializeWeights(stripped->skeleton, none).status().code(),
            absl::StatusCode::kNotFound);
}

TEST(StripTest, TruncatedModelsAreRefused) {
  const std::string model = ModelWithWeights();
  for (size_t size = 0; size < model.size(); size += 17) {
    const absl::StatusOr<Stripped> stripped = StripWeights(model.substr(0, size));
    if (!stripped.ok()) continue;
    EXPECT_EQ(MaterializeWeights(stripped->skeleton, ReaderOf(*stripped)).value(),
              model.substr(0, size));
  }
}

}  // namespace
}  // namespace plait
