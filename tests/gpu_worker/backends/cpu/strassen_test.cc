// Strassen's kernels, on what would spread from one row to another.
#include <cmath>
#include <limits>

#include "gtest/gtest.h"
#include "optimizer/ops/evaluation/evaluate.h"
#include "tests/gpu_worker/backends/cpu/random_numbers.h"
#include "tests/gpu_worker/executor/executor_fixture.h"

namespace plait {
namespace {

// Two bands of pairs of rows, the last of which has no partner.
constexpr int kRows = 261;
constexpr int kDepth = 1024;
constexpr int kColumns = 400;
constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kSubnormal = 1e-42f;  // what they lose
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

Graph ProductBy(const std::vector<float>& weights) {
  GraphBuilder builder;
  Node node;
  node.op = OpKind::kMatMul;
  node.inputs = {
      builder.AddInput({DataType::kFloat32, {kRows, kDepth}}, "x"),
      builder.AddConstant(Constant::OfTensor(Tensor::Of<float>({kDepth, kColumns}, weights)), "w")};
  builder.AddOutput(builder.AddNode(node, {{DataType::kFloat32, {kRows, kColumns}}})[0]);
  absl::StatusOr<Graph> graph = std::move(builder).Finish();
  EXPECT_TRUE(graph.ok()) << graph.status();
  return graph.ok() ? *std::move(graph) : Graph();
}

class StrassenTest : public testing::Test, protected WithExecutor {
 protected:
  void SetUp() override { Open("cpu", 2); }

  static std::vector<float> Weights(unsigned seed) {
    return RandomNumbers(kDepth * kColumns, seed);
  }
  static float& At(std::vector<float>& weights, int k, int n) { return weights[k * kColumns + n]; }

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
    for (int k = 0; k < kDepth; ++k) {
      const double product = static_cast<double>(row[k]) * weights[k * kColumns + n];
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
    const Graph graph = ProductBy(weights);
    const absl::StatusOr<std::unique_ptr<Executable>> executable = Load(graph);
    ASSERT_TRUE(executable.ok()) << executable.status();
    const absl::StatusOr<std::vector<Tensor>> actual =
        (*executable)->Run({Tensor::Of<float>({kRows, kDepth}, numbers)});
    ASSERT_TRUE(actual.ok()) << actual.status();
    for (int m = 0; m < kRows; ++m) {
      for (int n = 0; n < kColumns; ++n) {
        SCOPED_TRACE(testing::Message() << "row " << m << ", column " << n);
        const float got = (*actual)[0].at<float>(m * kColumns + n);
        ExpectNumber(got, weights, &numbers[m * kDepth], n);
        if (HasFatalFailure()) return;
      }
    }
  }
};

// Rows 3 and 134 are a pair, and row 130 has none.
TEST_F(StrassenTest, RowsThatAreNotFiniteChangeNoOther) {
  std::vector<float> weights = Weights(1);
  // Times an infinity no number.
  for (const int k : {7, 150}) At(weights, k, 3) = At(weights, k, kColumns - 5) = 0;
  for (const float special : {kInfinity, -kInfinity, kNan, 3e38f}) {
    SCOPED_TRACE(special);
    std::vector<float> numbers = RandomNumbers(kRows * kDepth, 2);
    numbers[3 * kDepth + 7] = numbers[130 * kDepth + 150] = numbers[260 * kDepth + 7] = special;
    ExpectRight(weights, numbers);
  }
}

TEST_F(StrassenTest, NumbersFarLargerThanTheirRowCostTheOthersNothing) {
  std::vector<float> weights = Weights(3);
  for (int n = 0; n < kColumns; n += 3) At(weights, 7, n) = At(weights, 150, n) = 0;
  std::vector<float> numbers = RandomNumbers(kRows * kDepth, 4);
  numbers[3 * kDepth + 7] = 1e6f;
  numbers[134 * kDepth + 150] = -1e6f;
  numbers[130 * kDepth + 150] = 1e6f;
  ExpectRight(weights, numbers);
}

TEST_F(StrassenTest, RowsFarLargerThanTheirPartnersCostThemNothing) {
  std::vector<float> numbers = RandomNumbers(kRows * kDepth, 5);
  for (int k = 0; k < kDepth; ++k) {
    numbers[3 * kDepth + k] *= 1e30f;
    numbers[135 * kDepth + k] *= 1e30f;
    numbers[5 * kDepth + k] = 0;
    numbers[6 * kDepth + k] *= 1e-40f;
  }
  std::vector<float> weights = Weights(6);
  for (int k = 0; k < kDepth; ++k) At(weights, k, 5) = 0;
  ExpectRight(weights, numbers);
}

TEST_F(StrassenTest, ColumnsFarLargerThanTheirPartnersCostThemNothing) {
  std::vector<float> weights = Weights(7);
  for (int k = 0; k < kDepth; ++k) {
    At(weights, k, 3) *= 1e20f;
    At(weights, k, 4 + kColumns / 2) *= 1e20f;
    At(weights, k, 5) *= 1e-40f;
  }
  ExpectRight(weights, RandomNumbers(kRows * kDepth, 8));
}

TEST_F(StrassenTest, RefusesWeightsThatAreNotFinite) {
  for (const float weight : {kInfinity, kNan}) {
    std::vector<float> weights = Weights(9);
    At(weights, 2, kColumns - 1) = weight;
    const absl::Status status = Load(ProductBy(weights)).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << weight << " " << status;
  }
}

}  // namespace
}  // namespace plait
