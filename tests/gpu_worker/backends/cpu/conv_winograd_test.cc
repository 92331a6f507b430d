// Winograd's kernels, on what would spread from one pixel to others.
#include <cmath>

#include "gtest/gtest.h"
#include "optimizer/ops/evaluation/evaluate.h"
#include "tests/gpu_worker/backends/cpu/random_numbers.h"
#include "tests/gpu_worker/backends/cpu/special_numbers.h"
#include "tests/gpu_worker/executor/executor_fixture.h"

namespace plait {
namespace {

constexpr int kChannels = 20;
constexpr int kSize = 13;

TensorType ImageOf(int size) { return {DataType::kFloat32, {1, kChannels, size, size}}; }

// Of an image of size x size pixels.
Graph ConvolutionBy(const std::vector<float>& weights, int size = kSize) {
  GraphBuilder builder;
  const Tensor values = Tensor::Of<float>({kChannels, kChannels, 3, 3}, weights);
  Node node;
  node.op = OpKind::kConv;
  node.inputs = {builder.AddInput(ImageOf(size), "x"),
                 builder.AddConstant(Constant::OfTensor(values), "w")};
  node.attributes =
      std::make_shared<const Attributes>(Attributes{{"pads", std::vector<int64_t>{1, 1, 1, 1}}});
  builder.AddOutput(builder.AddNode(node, {ImageOf(size)})[0]);
  absl::StatusOr<Graph> graph = std::move(builder).Finish();
  EXPECT_TRUE(graph.ok()) << graph.status();
  return graph.ok() ? *std::move(graph) : Graph();
}

// By variant.
class ConvWinogradTest : public testing::TestWithParam<const char*>, protected WithExecutor {
 protected:
  void SetUp() override { Open("cpu", 2); }

  absl::StatusOr<std::unique_ptr<Executable>> Load(const Graph& graph) {
    Kernel kernel{.family = "conv_winograd", .variant = GetParam(), .nodes = {0}};
    kernel.input_formats = {Format::kChannelsLast};
    kernel.output_formats = {Format::kChannelsLast};
    return executor_->LoadKernel(graph, kernel, NoWeights());
  }

  static void ExpectEqualsReference(Executable& executable, const Graph& graph,
                                    const std::vector<float>& numbers) {
    const std::vector<Tensor> inputs = {
        Tensor::Of<float>(graph.type(graph.inputs()[0]).shape, numbers)};
    const absl::StatusOr<std::vector<Tensor>> expected = EvaluateGraph(graph, inputs, NoWeights());
    ASSERT_TRUE(expected.ok()) << expected.status();
    const absl::StatusOr<std::vector<Tensor>> actual = executable.Run(inputs);
    ASSERT_TRUE(actual.ok()) << actual.status();
    for (int64_t i = 0; i < (*expected)[0].elements(); ++i) {
      const float wanted = (*expected)[0].at<float>(i);
      const float got = (*actual)[0].at<float>(i);
      ASSERT_EQ(std::isnan(got), std::isnan(wanted)) << i;
      if (std::isnan(wanted)) continue;
      if (std::isfinite(wanted)) {
        ASSERT_NEAR(got, wanted, 1e-4f + std::abs(wanted) * 1e-5f) << i;
      } else {
        ASSERT_EQ(got, wanted) << i;
      }
    }
  }
};

INSTANTIATE_TEST_SUITE_P(Variants, ConvWinogradTest, testing::Values("f2", "f4"),
                         [](const auto& info) { return std::string(info.param); });

TEST_P(ConvWinogradTest, PixelsThatAreNotFiniteChangeThoseAloneThatSeeThem) {
  std::vector<float> weights = RandomNumbers(kChannels * kChannels * 9, 1);
  // Times an infinity no number, and times NaN as well.
  for (int tap = 0; tap < 9; ++tap) weights[(3 * kChannels + 7) * 9 + tap] = 0;
  const Graph graph = ConvolutionBy(weights);
  absl::StatusOr<std::unique_ptr<Executable>> executable = Load(graph);
  ASSERT_TRUE(executable.ok()) << executable.status();
  for (const float special : {kInfinity, -kInfinity, kNan, 3e38f}) {
    SCOPED_TRACE(special);
    std::vector<float> numbers = RandomNumbers(kChannels * kSize * kSize, 2);
    for (const int pixel : {0, 5 * kSize + 6, 12 * kSize + 3}) {
      numbers[7 * kSize * kSize + pixel] = special;
    }
    ExpectEqualsReference(**executable, graph, numbers);
  }
}

// What it adds to is as large; all else is about 20, with what fp32 loses there.
TEST_P(ConvWinogradTest, NumbersFarLargerThanTheirTileCostTheOthersNothing) {
  std::vector<float> weights = RandomNumbers(kChannels * kChannels * 9, 7);
  for (int tap = 0; tap < 9; ++tap) weights[(3 * kChannels + 7) * 9 + tap] = 0;
  const Graph graph = ConvolutionBy(weights);
  absl::StatusOr<std::unique_ptr<Executable>> executable = Load(graph);
  ASSERT_TRUE(executable.ok()) << executable.status();
  std::vector<float> numbers = RandomNumbers(kChannels * kSize * kSize, 8);
  for (const int pixel : {0, 5 * kSize + 6, 12 * kSize + 3}) {
    numbers[7 * kSize * kSize + pixel] = pixel % 2 == 0 ? 1e6f : -1e6f;
  }
  const std::vector<Tensor> inputs = {Tensor::Of<float>(ImageOf(kSize).shape, numbers)};
  const absl::StatusOr<std::vector<Tensor>> expected = EvaluateGraph(graph, inputs, NoWeights());
  ASSERT_TRUE(expected.ok()) << expected.status();
  const absl::StatusOr<std::vector<Tensor>> actual = (*executable)->Run(inputs);
  ASSERT_TRUE(actual.ok()) << actual.status();
  for (int i = 0; i < kChannels * kSize * kSize; ++i) {
    const float wanted = (*expected)[0].at<float>(i);
    ASSERT_NEAR((*actual)[0].at<float>(i), wanted, 1e-4f + std::abs(wanted) * 1e-6f) << i;
  }
}

// More tiles than are worked on at a time.
TEST_P(ConvWinogradTest, LargeImagesAreRight) {
  constexpr int kLarge = 107;
  const Graph graph = ConvolutionBy(RandomNumbers(kChannels * kChannels * 9, 5), kLarge);
  absl::StatusOr<std::unique_ptr<Executable>> executable = Load(graph);
  ASSERT_TRUE(executable.ok()) << executable.status();
  ExpectEqualsReference(**executable, graph, RandomNumbers(kChannels * kLarge * kLarge, 6));
}

TEST_P(ConvWinogradTest, RefusesWeightsWhoseTransformIsNotFinite) {
  for (const float weight : {kInfinity, kNan, 3e38f}) {
    std::vector<float> weights = RandomNumbers(kChannels * kChannels * 9, 3);
    // A transform adds all nine.
    for (int tap = 0; tap < 9; ++tap) weights[1233 / 9 * 9 + tap] = weight;
    const absl::Status status = Load(ConvolutionBy(weights)).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << weight << " " << status;
  }
}

class ConvWinogradVariantTest : public ConvWinogradTest {};

INSTANTIATE_TEST_SUITE_P(Unknown, ConvWinogradVariantTest, testing::Values("", "f3", "f44", "4"));

TEST_P(ConvWinogradVariantTest, IsRefused) {
  const Graph graph = ConvolutionBy(RandomNumbers(kChannels * kChannels * 9, 4));
  EXPECT_TRUE(absl::IsInvalidArgument(Load(graph).status()));
}

}  // namespace
}  // namespace plait
