#include "gpu_worker/executor/sampled_products.h"

#include <cmath>
#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gpu_worker/executor/make_inputs.h"
#include "optimizer/ops/evaluation/evaluate.h"

namespace plait {
namespace {

using testing::Contains;

// A node between inputs of these shapes; no shape: the node has no such input.
struct Layer {
  std::string node;
  std::vector<std::string> shapes;
};

// Keeps GoogleTest from printing a layer as bytes.
std::ostream& operator<<(std::ostream& out, const Layer& layer) { return out << layer.node; }

Graph GraphOf(const Layer& layer) {
  std::string text = "graph {\n";
  std::string arguments;
  for (size_t i = 0; i < layer.shapes.size(); ++i) {
    const std::string name = "%i" + std::to_string(i);
    text += " input " + name + ": float32" + layer.shapes[i] + "\n";
    arguments += (i == 0 ? "" : ", ") + name;
  }
  const size_t end = layer.node.find(' ');
  text += " %y = " + layer.node.substr(0, end) + "(" + arguments + ")" +
          (end == std::string::npos ? " {}" : layer.node.substr(end)) + "\n output %y\n}";
  absl::StatusOr<Graph> graph = ParseTypedGraph(text);
  EXPECT_TRUE(graph.ok()) << graph.status() << text;
  return graph.ok() ? *std::move(graph) : Graph();
}

std::vector<Tensor> InputsFor(const Graph& graph) {
  absl::StatusOr<std::vector<Tensor>> inputs = MakeInputs(graph, 1, 3);
  EXPECT_TRUE(inputs.ok()) << inputs.status();
  return *std::move(inputs);
}

std::vector<double> ExactResult(const Graph& graph, const std::vector<Tensor>& inputs) {
  std::vector<EvalTensor> values;
  for (const Tensor& input : inputs) values.push_back(ToEvalTensor(input));
  const auto result = EvaluateGraphUnrounded(graph, values, NoWeights());
  EXPECT_TRUE(result.ok()) << result.status();
  return std::get<std::vector<double>>((*result)[0].values);
}

std::vector<ProductSample> SamplesOf(const Graph& graph, const std::vector<Tensor>& inputs,
                                     int64_t samples_max) {
  const auto layer = LayerOperands::Create(graph);
  EXPECT_TRUE(layer.ok()) << layer.status();
  std::vector<const Tensor*> arguments;
  for (const Tensor& input : inputs) arguments.push_back(&input);
  return ComputeSamples(**layer, ChoosePlaces(**layer, samples_max, 1), arguments);
}

class SampledProductsTest : public testing::TestWithParam<Layer> {};

TEST_P(SampledProductsTest, AreTheReferencesAtEveryElement) {
  const Graph graph = GraphOf(GetParam());
  const std::vector<Tensor> inputs = InputsFor(graph);
  const std::vector<double> expected = ExactResult(graph, inputs);
  const std::vector<ProductSample> samples = SamplesOf(graph, inputs, 1'000'000);
  ASSERT_EQ(samples.size(), expected.size());
  std::map<int64_t, ProductSample> by_element;
  for (const ProductSample& sample : samples) by_element[sample.element] = sample;
  ASSERT_EQ(by_element.size(), expected.size());
  for (const auto& [element, sample] : by_element) {
    EXPECT_NEAR(sample.exact, expected[element], 1e-12 * (1 + sample.magnitude)) << element;
    EXPECT_NEAR(sample.serial, sample.exact, 1e-5 * (1 + sample.magnitude)) << element;
  }
}

// The same graph on the absolute values, without an addend.
TEST_P(SampledProductsTest, KnowTheSizeOfWhatTheyAddUp) {
  const Graph graph = GraphOf(GetParam());
  std::vector<Tensor> inputs = InputsFor(graph);
  const std::vector<ProductSample> samples = SamplesOf(graph, inputs, 1'000'000);
  for (size_t i = 0; i < inputs.size(); ++i) {
    std::vector<double> values = inputs[i].AsDoubles();
    for (double& value : values) value = i == 2 ? 0 : std::abs(value);
    inputs[i] = Tensor::FromDoubles(inputs[i].type(), values);
  }
  const std::vector<double> expected = ExactResult(graph, inputs);
  for (const ProductSample& sample : samples) {
    EXPECT_NEAR(sample.magnitude, std::abs(expected[sample.element]), 1e-12 * sample.magnitude);
  }
}

// Noise at one element of the input changes the result there, and where else it is read.
TEST_P(SampledProductsTest, FindAnElementOfTheInputThatTakesPart) {
  const Graph graph = GraphOf(GetParam());
  const std::vector<Tensor> inputs = InputsFor(graph);
  const std::vector<double> before = ExactResult(graph, inputs);
  const auto layer = LayerOperands::Create(graph);
  ASSERT_TRUE(layer.ok());
  const int64_t point = ElementsOf((*layer)->points()) / 2;
  const int64_t channel = (*layer)->channels() - 1;
  std::vector<double> values = inputs[0].AsDoubles();
  values[(*layer)->InputElement(point, channel)] += 1;
  std::vector<Tensor> changed = inputs;
  changed[0] = Tensor::FromDoubles(inputs[0].type(), values);
  const int64_t element = (*layer)->Element(point, channel);
  const std::vector<double> after = ExactResult(graph, changed);
  EXPECT_NE(after[element], before[element]);
  std::vector<int64_t> readers;
  for (int64_t other = 0; other < ElementsOf((*layer)->points()); ++other) {
    const int64_t seen = (*layer)->Element(other, channel);
    const int64_t scope = (*layer)->scope_elements();
    if (seen / scope == element / scope && after[seen] != before[seen]) readers.push_back(other);
  }
  EXPECT_EQ((*layer)->PointsThatRead(point, channel), readers);
}

INSTANTIATE_TEST_SUITE_P(
    Layers, SampledProductsTest,
    testing::Values(Layer{"Conv {pads=[1,1,1,1]}", {"[1,3,6,5]", "[4,3,3,3]"}},
                    Layer{"Conv {group=2, pads=[1,0,2,1], strides=[2,1], dilations=[1,2]}",
                          {"[2,6,7,6]", "[4,3,3,2]", "[4]"}},
                    Layer{"Conv {group=20, pads=[1,1,1,1]}", {"[1,20,5,4]", "[20,1,3,3]", "[20]"}},
                    Layer{"Conv", {"[1,5,3,2]", "[35,5,1,1]"}},
                    Layer{"Conv {pads=[3,0], strides=[3]}", {"[2,3,11]", "[5,3,4]"}},
                    Layer{"Conv {pads=[1,1,0,0,1,2]}", {"[1,2,4,3,5]", "[3,2,2,3,1]", "[3]"}},
                    Layer{"Conv {pads=[3,3,3,3]}", {"[1,1,2,2]", "[1,1,2,2]"}},
                    Layer{"MatMul", {"[3,7]", "[7,5]"}}, Layer{"MatMul", {"[2,1,3,7]", "[4,7,5]"}},
                    Layer{"MatMul", {"[3,7]", "[2,7,40]"}}, Layer{"MatMul", {"[7]", "[7,5]"}},
                    Layer{"MatMul", {"[2,3,7]", "[7]"}}, Layer{"MatMul", {"[7]", "[2,7,5]"}},
                    Layer{"Gemm", {"[3,7]", "[7,5]"}},
                    Layer{"Gemm {transA=1, alpha=0.3, beta=-2.5}", {"[7,3]", "[7,20]", "[20]"}},
                    Layer{"Gemm {transB=1, alpha=-1.5}", {"[3,7]", "[5,7]", "[3,1]"}},
                    Layer{"Gemm {transA=1, transB=1}", {"[7,3]", "[5,7]", "[1]"}}));

TEST(SerialSumTest, RoundsAfterEachAddition) {
  const Graph graph = GraphOf({"MatMul", {"[1,3]", "[3,1]"}});
  const std::vector<Tensor> inputs = {Tensor::Of<float>({1, 3}, {1e8f, 1, -1e8f}),
                                      Tensor::Of<float>({3, 1}, {1, 1, 1})};
  const std::vector<ProductSample> samples = SamplesOf(graph, inputs, 10);
  ASSERT_EQ(samples.size(), 1u);
  EXPECT_EQ(samples[0].exact, 1);
  EXPECT_EQ(samples[0].serial, 0);
  EXPECT_EQ(samples[0].magnitude, 2e8 + 1);
}

TEST(ChoosePlacesTest, TakesCornersAndBordersOfLargeLayers) {
  const auto layer =
      LayerOperands::Create(GraphOf({"Conv {pads=[1,1,1,1]}", {"[1,4,50,40]", "[100,4,3,3]"}}));
  ASSERT_TRUE(layer.ok()) << layer.status();
  const SamplePlaces places = ChoosePlaces(**layer, 4096, 1);
  EXPECT_LE(places.points.size() * places.channels.size(), 4096u);
  EXPECT_GE(places.points.size() * places.channels.size(), 3500u);
  for (const int64_t corner : {0, 39, 1960, 1999}) EXPECT_THAT(places.points, Contains(corner));
  EXPECT_THAT(places.channels, Contains(0));
  EXPECT_THAT(places.channels, Contains(99));
  int at_border = 0;
  for (const int64_t point : places.points) {
    const int64_t row = point / 40, column = point % 40;
    at_border += row == 0 || row == 49 || column == 0 || column == 39;
  }
  EXPECT_GE(at_border, static_cast<int>(places.points.size()) / 3);
  EXPECT_LT(at_border, static_cast<int>(places.points.size()));
}

TEST(ChoosePlacesTest, TakesManyOfTheOtherWhereThereAreFewOfOne) {
  const auto row = LayerOperands::Create(GraphOf({"MatMul", {"[1,8]", "[8,5000]"}}));
  const auto column = LayerOperands::Create(GraphOf({"MatMul", {"[5000,8]", "[8,1]"}}));
  EXPECT_GE(ChoosePlaces(**row, 4096, 1).channels.size(), 3500u);
  EXPECT_GE(ChoosePlaces(**column, 4096, 1).points.size(), 3500u);
}

TEST(ChoosePlacesTest, FindsNothingInAnEmptyLayer) {
  const Graph graph = GraphOf({"MatMul", {"[0,8]", "[8,3]"}});
  EXPECT_TRUE(SamplesOf(graph, InputsFor(graph), 100).empty());
}

}  // namespace
}  // namespace plait
