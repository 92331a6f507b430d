// Kernels that multiply in digits, on what digits cannot hold.
#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gpu_worker/executor/compare_outputs.h"
#include "gtest/gtest.h"
#include "optimizer/ir/text.h"
#include "optimizer/ops/evaluation/evaluate.h"
#include "optimizer/ops/shared/op_spec.h"
#include "tests/gpu_worker/backends/cpu/random_numbers.h"
#include "tests/gpu_worker/backends/cpu/special_numbers.h"
#include "tests/gpu_worker/executor/executor_fixture.h"

namespace plait {
namespace {

constexpr int kDigitRows = 40;
constexpr int kDigitDepth = 200;
constexpr int kDigitColumns = 150;

Tensor TensorOf(const Shape& shape, const std::vector<float>& numbers) {
  return Tensor::Of<float>(shape, numbers);
}

Graph DigitProductBy(const std::vector<float>& weights) {
  GraphBuilder builder;
  const TensorId left = builder.AddInput({DataType::kFloat32, {kDigitRows, kDigitDepth}}, "x");
  const TensorId right =
      builder.AddConstant(Constant::OfTensor(TensorOf({kDigitDepth, kDigitColumns}, weights)), "w");
  Node node;
  node.op = OpKind::kMatMul;
  node.inputs = {left, right};
  builder.AddOutput(builder.AddNode(node, {{DataType::kFloat32, {kDigitRows, kDigitColumns}}})[0]);
  absl::StatusOr<Graph> graph = std::move(builder).Finish();
  EXPECT_TRUE(graph.ok()) << graph.status();
  return graph.ok() ? *std::move(graph) : Graph();
}

class DigitProductTest : public testing::Test, protected WithExecutor {
 protected:
  void SetUp() override { Open("cpu", 0); }

  absl::StatusOr<std::unique_ptr<Executable>> Load(const Graph& graph) {
    Kernel kernel{.family = "matmul_int8", .variant = "x6", .nodes = {0}};
    kernel.input_formats = {Format::kPlain};
    kernel.output_formats = {Format::kPlain};
    return executor_->LoadKernel(graph, kernel, NoWeights());
  }

  void ExpectEqualsReference(const std::vector<float>& rows, const std::vector<float>& weights) {
    const Graph graph = DigitProductBy(weights);
    absl::StatusOr<std::unique_ptr<Executable>> executable = Load(graph);
    ASSERT_TRUE(executable.ok()) << executable.status();
    const std::vector<Tensor> inputs = {TensorOf({kDigitRows, kDigitDepth}, rows)};
    const absl::StatusOr<std::vector<Tensor>> expected = EvaluateGraph(graph, inputs, NoWeights());
    ASSERT_TRUE(expected.ok()) << expected.status();
    const absl::StatusOr<std::vector<Tensor>> actual = (*executable)->Run(inputs);
    ASSERT_TRUE(actual.ok()) << actual.status();
    // Row by row: what one row holds must not hide behind another's.
    for (int m = 0; m < kDigitRows; ++m) {
      float largest = 0;
      for (int n = 0; n < kDigitColumns; ++n) {
        const float wanted = (*expected)[0].at<float>(m * kDigitColumns + n);
        if (std::isfinite(wanted)) largest = std::max(largest, std::abs(wanted));
      }
      for (int n = 0; n < kDigitColumns; ++n) {
        const float wanted = (*expected)[0].at<float>(m * kDigitColumns + n);
        const float got = (*actual)[0].at<float>(m * kDigitColumns + n);
        if (std::isfinite(wanted)) {
          ASSERT_NEAR(got, wanted, largest * 2e-6) << "row " << m << ", column " << n;
        } else {
          ASSERT_EQ(std::isnan(got), std::isnan(wanted)) << "row " << m << ", column " << n;
          if (std::isnan(wanted)) continue;
          ASSERT_EQ(got, wanted) << "row " << m << ", column " << n;
        }
      }
    }
  }
};

TEST_F(DigitProductTest, RowsWithInfinitiesAndNansAreRight) {
  std::vector<float> rows = RandomNumbers(kDigitRows * kDigitDepth, 1);
  std::vector<float> weights = RandomNumbers(kDigitDepth * kDigitColumns, 2);
  rows[3 * kDigitDepth + 7] = kInfinity;
  rows[4 * kDigitDepth + 7] = -kInfinity;
  rows[5 * kDigitDepth + 9] = std::numeric_limits<float>::quiet_NaN();
  rows[6 * kDigitDepth + 1] = kInfinity;
  rows[6 * kDigitDepth + 2] = kInfinity;
  // An infinity times zero is not a number, and times very little it is infinite.
  weights[7 * kDigitColumns + 3] = 0;
  weights[7 * kDigitColumns + 4] = 1e-20f;
  weights[7 * kDigitColumns + 5] = -1e-20f;
  ExpectEqualsReference(rows, weights);
}

TEST_F(DigitProductTest, RowsOfAnySizeKeepTheirOwnAccuracy) {
  std::vector<float> rows = RandomNumbers(kDigitRows * kDigitDepth, 3);
  for (int m = 0; m < kDigitRows; ++m) {
    const float size = std::pow(10.0f, static_cast<float>(m) * 1.9f - 37);
    for (int k = 0; k < kDigitDepth; ++k) rows[m * kDigitDepth + k] *= size;
  }
  for (int k = 0; k < kDigitDepth; ++k) rows[20 * kDigitDepth + k] = 0;
  ExpectEqualsReference(rows, RandomNumbers(kDigitDepth * kDigitColumns, 4));
}

TEST_F(DigitProductTest, ColumnsOfAnySizeKeepTheirOwnAccuracy) {
  std::vector<float> weights = RandomNumbers(kDigitDepth * kDigitColumns, 5);
  for (int k = 0; k < kDigitDepth; ++k) {
    weights[k * kDigitColumns + 3] *= 1e-20f;
    weights[k * kDigitColumns + 4] *= 1e6f;
    weights[k * kDigitColumns + 5] = 0;
  }
  const Graph graph = DigitProductBy(weights);
  absl::StatusOr<std::unique_ptr<Executable>> executable = Load(graph);
  ASSERT_TRUE(executable.ok()) << executable.status();
  const std::vector<float> rows = RandomNumbers(kDigitRows * kDigitDepth, 6);
  const std::vector<Tensor> inputs = {TensorOf({kDigitRows, kDigitDepth}, rows)};
  const absl::StatusOr<std::vector<Tensor>> actual = (*executable)->Run(inputs);
  ASSERT_TRUE(actual.ok()) << actual.status();
  for (const int n : {3, 4, 5, 6}) {
    double largest = 0;
    std::vector<double> exact(kDigitRows);
    for (int m = 0; m < kDigitRows; ++m) {
      for (int k = 0; k < kDigitDepth; ++k) {
        exact[m] += static_cast<double>(rows[m * kDigitDepth + k]) * weights[k * kDigitColumns + n];
      }
      largest = std::max(largest, std::abs(exact[m]));
    }
    for (int m = 0; m < kDigitRows; ++m) {
      EXPECT_NEAR((*actual)[0].at<float>(m * kDigitColumns + n), exact[m], largest * 2e-6)
          << "row " << m << ", column " << n;
    }
  }
}

// Column 3 takes nothing of the number that is far larger than all others: its values are as exact
// as if it were not there.
TEST_F(DigitProductTest, ANumberFarLargerThanItsRowCostsTheOthersNothing) {
  std::vector<float> weights = RandomNumbers(kDigitDepth * kDigitColumns, 9);
  std::vector<float> rows = RandomNumbers(kDigitRows * kDigitDepth, 10);
  weights[11 * kDigitColumns + 3] = 0;
  weights[11 * kDigitColumns + 4] = 1e-4f;
  for (const int m : {0, 17, 39}) rows[m * kDigitDepth + 11] = 10'000;
  const Graph graph = DigitProductBy(weights);
  absl::StatusOr<std::unique_ptr<Executable>> executable = Load(graph);
  ASSERT_TRUE(executable.ok()) << executable.status();
  const absl::StatusOr<std::vector<Tensor>> actual =
      (*executable)->Run({TensorOf({kDigitRows, kDigitDepth}, rows)});
  ASSERT_TRUE(actual.ok()) << actual.status();
  for (const int n : {3, 4, 5}) {
    for (const int m : {0, 17, 39}) {
      double exact = 0;
      double magnitude = 0;
      for (int k = 0; k < kDigitDepth; ++k) {
        const double product =
            static_cast<double>(rows[m * kDigitDepth + k]) * weights[k * kDigitColumns + n];
        exact += product;
        magnitude += std::abs(product);
      }
      EXPECT_NEAR((*actual)[0].at<float>(m * kDigitColumns + n), exact, magnitude * 3e-7)
          << "row " << m << ", column " << n;
    }
  }
}

// The same of an image, whose numbers have one scale, and of an infinity.
TEST_F(DigitProductTest, ANumberFarLargerThanItsImageCostsTheOthersNothing) {
  constexpr int kChannels = 40;
  constexpr int kSize = 12;
  std::vector<float> weights = RandomNumbers(kChannels * kChannels * 9, 11);
  for (int tap = 0; tap < 9; ++tap) weights[(3 * kChannels + 7) * 9 + tap] = 0;
  GraphBuilder builder;
  const TensorType image = {DataType::kFloat32, {1, kChannels, kSize, kSize}};
  const TensorId left = builder.AddInput(image, "x");
  const TensorId right =
      builder.AddConstant(Constant::OfTensor(TensorOf({kChannels, kChannels, 3, 3}, weights)), "w");
  Node node;
  node.op = OpKind::kConv;
  node.inputs = {left, right};
  node.attributes =
      std::make_shared<const Attributes>(Attributes{{"pads", std::vector<int64_t>{1, 1, 1, 1}}});
  builder.AddOutput(builder.AddNode(node, {image})[0]);
  const absl::StatusOr<Graph> graph = std::move(builder).Finish();
  ASSERT_TRUE(graph.ok()) << graph.status();
  Kernel kernel{.family = "conv_int8", .variant = "x6", .nodes = {0}};
  kernel.input_formats = {Format::kChannelsLast};
  kernel.output_formats = {Format::kChannelsLast};
  absl::StatusOr<std::unique_ptr<Executable>> executable =
      executor_->LoadKernel(*graph, kernel, NoWeights());
  ASSERT_TRUE(executable.ok()) << executable.status();
  for (const float large : {10'000.0f, kInfinity}) {
    std::vector<float> numbers = RandomNumbers(kChannels * kSize * kSize, 12);
    numbers[7 * kSize * kSize + 5 * kSize + 6] = large;
    const std::vector<Tensor> inputs = {TensorOf(image.shape, numbers)};
    const absl::StatusOr<std::vector<Tensor>> expected = EvaluateGraph(*graph, inputs, NoWeights());
    ASSERT_TRUE(expected.ok()) << expected.status();
    const absl::StatusOr<std::vector<Tensor>> actual = (*executable)->Run(inputs);
    ASSERT_TRUE(actual.ok()) << actual.status();
    for (int i = 0; i < kChannels * kSize * kSize; ++i) {
      const float wanted = (*expected)[0].at<float>(i);
      const float got = (*actual)[0].at<float>(i);
      ASSERT_EQ(std::isnan(got), std::isnan(wanted)) << i;
      if (!std::isfinite(wanted)) {
        if (!std::isnan(wanted)) {
          ASSERT_EQ(got, wanted) << i;
        }
        continue;
      }
      // Values are about 20, and far from the large number.
      const bool is_far = i / (kSize * kSize) == 3 || std::abs(wanted) < 100;
      ASSERT_NEAR(got, wanted, is_far ? 6e-5f : 3e-2f) << i;
    }
  }
}

TEST_F(DigitProductTest, RefusesWeightsThatDigitsCannotHold) {
  for (const float weight : {kInfinity, std::numeric_limits<float>::quiet_NaN()}) {
    std::vector<float> weights = RandomNumbers(kDigitDepth * kDigitColumns, 7);
    weights[1234] = weight;
    EXPECT_TRUE(absl::IsInvalidArgument(Load(DigitProductBy(weights)).status())) << weight;
  }
}

TEST_F(DigitProductTest, RefusesAnotherVariant) {
  const Graph graph = DigitProductBy(RandomNumbers(kDigitDepth * kDigitColumns, 8));
  Kernel kernel{.family = "matmul_int8", .variant = "x7", .nodes = {0}};
  kernel.input_formats = {Format::kPlain};
  kernel.output_formats = {Format::kPlain};
  EXPECT_TRUE(absl::IsInvalidArgument(executor_->LoadKernel(graph, kernel, NoWeights()).status()));
}

}  // namespace
}  // namespace plait
