// Strassen's kernels, on what would spread from one row to another.
#include <cmath>

#include "gtest/gtest.h"
#include "optimizer/ops/evaluation/evaluate.h"
#include "tests/gpu_worker/backends/cpu/random_numbers.h"
#include "tests/gpu_worker/backends/cpu/special_numbers.h"
#include "tests/gpu_worker/executor/executor_fixture.h"

namespace plait {
namespace {

// Two bands of pairs of rows, the last of which has no partner.
constexpr int kStrassenRows = 261;
constexpr int kStrassenDepth = 1024;
constexpr int kStrassenColumns = 400;
constexpr float kSubnormal = 1e-42f;  // what they lose

Graph StrassenProductBy(const std::vector<float>& weights) {
  GraphBuilder builder;
  Node node;
  node.op = OpKind::kMatMul;
  node.inputs = {
      builder.AddInput({DataType::kFloat32, {kStrassenRows, kStrassenDepth}}, "x"),
      builder.AddConstant(
          Constant::OfTensor(Tensor::Of<float>({kStrassenDepth, kStrassenColumns}, weights)), "w")};
  builder.AddOutput(
      builder.AddNode(node, {{DataType::kFloat32, {kStrassenRows, kStrassenColumns}}})[0]);
  absl::StatusOr<Graph> graph = std::move(builder).Finish();
  EXPECT_TRUE(graph.ok()) << graph.status();
  return graph.ok() ? *std::move(graph) : Graph();
}

class StrassenTest : public testing::Test, protected WithExecutor {
 protected:
  void SetUp() override { Open("cpu", 2); }

  static std::vector<float> Weights(unsigned seed) {
    return RandomNumbers(kStrassenDepth * kStrassenColumns, seed);
  }
  static float& At(std::vector<float>& weights, int k, int n) {
    return weights[k * kStrassenColumns + n];
  }

  absl::StatusOr<std::unique_ptr<Executable>> Load(const Graph& graph) {
    const Kernel kernel{.family = "matmul_strassen",
                        .nodes = {0},
                        .input_formats = {Format::kPlain},
                        .output_formats = {Format::kPlain}};
    return executor_->LoadKernel(graph, kernel, NoWeights());
  }

  // Each sum loses a few of its last bits, as any sum in fp32 does.
  static void ExpectNumber(float got, const std::vector<float>& weights, const float* row, int n) {
    double wanted = 0;
    double magnitude = 0;
    for (int k = 0; k < kStrassenDepth; ++k) {
      const double product = static_cast<double>(row[k]) * weights[k * kStrassenColumns + n];
      wanted += product;
      magnitude += std::abs(product);
    }
    const auto rounded = static_cast<float>(wanted);
    if (std::isfinite(rounded)) {
      ASSERT_NEAR(got, wanted, 2e-6 * magnitude + kSubnormal);
    } else {
      ASSERT_EQ(std::isnan(got), std::isnan(rounded));
      if (!std::isnan(got)) {
        ASSERT_EQ(got, rounded);
      }
    }
  }

  void ExpectRight(const std::vector<float>& weights, const std::vector<float>& numbers) {
    const Graph graph = StrassenProductBy(weights);
    const absl::StatusOr<std::unique_ptr<Executable>> executable = Load(graph);
    ASSERT_TRUE(executable.ok()) << executable.status();
    const absl::StatusOr<std::vector<Tensor>> actual =
        (*executable)->Run({Tensor::Of<float>({kStrassenRows, kStrassenDepth}, numbers)});
    ASSERT_TRUE(actual.ok()) << actual.status();
    for (int m = 0; m < kStrassenRows; ++m) {
      for (int n = 0; n < kStrassenColumns; ++n) {
        SCOPED_TRACE(testing::Message() << "row " << m << ", column " << n);
        const float got = (*actual)[0].at<float>(m * kStrassenColumns + n);
        ExpectNumber(got, weights, &numbers[m * kStrassenDepth], n);
        if (HasFatalFailure()) return;
      }
    }
  }
};

// Rows 3 and 134 are a pair, and row 130 has none.
TEST_F(StrassenTest, RowsThatAreNotFiniteChangeNoOther) {
  std::vector<float> weights = Weights(1);
  // Times an infinity no number.
  for (const int k : {7, 150}) At(weights, k, 3) = At(weights, k, kStrassenColumns - 5) = 0;
  for (const float special : {kInfinity, -kInfinity, kNan, 3e38f}) {
    SCOPED_TRACE(special);
    std::vector<float> numbers = RandomNumbers(kStrassenRows * kStrassenDepth, 2);
    numbers[3 * kStrassenDepth + 7] = numbers[130 * kStrassenDepth + 150] =
        numbers[260 * kStrassenDepth + 7] = special;
    ExpectRight(weights, numbers);
  }
}

TEST_F(StrassenTest, NumbersFarLargerThanTheirRowCostTheOthersNothing) {
  std::vector<float> weights = Weights(3);
  for (int n = 0; n < kStrassenColumns; n += 3) At(weights, 7, n) = At(weights, 150, n) = 0;
  std::vector<float> numbers = RandomNumbers(kStrassenRows * kStrassenDepth, 4);
  numbers[3 * kStrassenDepth + 7] = 1e6f;
  numbers[134 * kStrassenDepth + 150] = -1e6f;
  numbers[130 * kStrassenDepth + 150] = 1e6f;
  ExpectRight(weights, numbers);
}

TEST_F(StrassenTest, RowsFarLargerThanTheirPartnersCostThemNothing) {
  std::vector<float> numbers = RandomNumbers(kStrassenRows * kStrassenDepth, 5);
  for (int k = 0; k < kStrassenDepth; ++k) {
    numbers[3 * kStrassenDepth + k] *= 1e30f;
    numbers[135 * kStrassenDepth + k] *= 1e30f;
    numbers[5 * kStrassenDepth + k] = 0;
    numbers[6 * kStrassenDepth + k] *= 1e-40f;
  }
  std::vector<float> weights = Weights(6);
  for (int k = 0; k < kStrassenDepth; ++k) At(weights, k, 5) = 0;
  ExpectRight(weights, numbers);
}

TEST_F(StrassenTest, ColumnsFarLargerThanTheirPartnersCostThemNothing) {
  std::vector<float> weights = Weights(7);
  for (int k = 0; k < kStrassenDepth; ++k) {
    At(weights, k, 3) *= 1e20f;
    At(weights, k, 4 + kStrassenColumns / 2) *= 1e20f;
    At(weights, k, 5) *= 1e-40f;
  }
  ExpectRight(weights, RandomNumbers(kStrassenRows * kStrassenDepth, 8));
}

TEST_F(StrassenTest, RefusesWeightsThatAreNotFinite) {
  for (const float weight : {kInfinity, kNan}) {
    std::vector<float> weights = Weights(9);
    At(weights, 2, kStrassenColumns - 1) = weight;
    const absl::Status status = Load(StrassenProductBy(weights)).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << weight << " " << status;
  }
}

}  // namespace
}  // namespace plait
