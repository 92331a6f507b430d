// Kernels that multiply in planes of bf16: how exact they are, and what they do with what is not
// finite.
#include <cmath>
#include <cstring>
#include <limits>

#include "absl/strings/str_cat.h"
#include "gpu_worker/backends/cpu/loops/loops.h"
#include "gtest/gtest.h"
#include "optimizer/ops/evaluation/evaluate.h"
#include "tests/gpu_worker/backends/cpu/random_numbers.h"
#include "tests/gpu_worker/backends/cpu/special_numbers.h"
#include "tests/gpu_worker/executor/executor_fixture.h"

namespace plait {
namespace {

constexpr int kBf16Rows = 40;
constexpr int kBf16Columns = 150;
constexpr float kLargest = std::numeric_limits<float>::max();

float FloatOf(uint16_t half) {
  const uint32_t bits = uint32_t{half} << 16;
  float value;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}

// The planes of one number.
std::vector<uint16_t> PlanesOfNumber(float x) {
  std::vector<uint16_t> halves(3);
  PlaneRows rows{.x = &x,
                 .x_row_floats = 1,
                 .rows = 1,
                 .size = 1,
                 .plane_size = 1,
                 .planes = {},
                 .stride_bytes = 2};
  for (int i = 0; i < 3; ++i) rows.planes[i] = reinterpret_cast<std::byte*>(&halves[i]);
  Loops().bf16.split_rows(rows);
  return halves;
}

TEST(Bf16LoopsTest, ThreePlanesAreAllOfANumber) {
  std::vector<float> numbers = RandomNumbers(1000, 1);
  numbers.insert(numbers.end(),
                 {0.0f, 1e-30f, -3e38f, kLargest, -kLargest, 1e20f, 1.00390625f, 1.01171875f});
  for (const float x : numbers) {
    const std::vector<uint16_t> halves = PlanesOfNumber(x);
    EXPECT_EQ(FloatOf(halves[2]) + FloatOf(halves[1]) + FloatOf(halves[0]), x) << x;
    EXPECT_TRUE(std::isfinite(FloatOf(halves[0]))) << x;
    EXPECT_LE(std::abs(FloatOf(halves[0]) - x), std::abs(x) / 256) << x;
  }
  // Of two nearest ones the even one.
  EXPECT_EQ(FloatOf(PlanesOfNumber(1.00390625f)[0]), 1.0f);
  EXPECT_EQ(FloatOf(PlanesOfNumber(1.01171875f)[0]), 1.015625f);
}

TEST(Bf16LoopsTest, WhatIsNotFiniteStaysSo) {
  EXPECT_EQ(FloatOf(PlanesOfNumber(kInfinity)[0]), kInfinity);
  EXPECT_EQ(FloatOf(PlanesOfNumber(-kInfinity)[0]), -kInfinity);
  // Also one whose upper bits are all ones, to which nothing can be added.
  const auto ones = __builtin_bit_cast(float, uint32_t{0x7fffffff});
  const auto least = __builtin_bit_cast(float, uint32_t{0x7f800001});
  for (const float nan : {kNan, -kNan, ones, least}) {
    EXPECT_TRUE(std::isnan(FloatOf(PlanesOfNumber(nan)[0])));
  }
}

Graph LayerOf(OpKind op, const Shape& input, const Shape& weights_shape, const Shape& output,
              const std::vector<float>& weights) {
  GraphBuilder builder;
  const TensorId left = builder.AddInput({DataType::kFloat32, input}, "x");
  const TensorId right =
      builder.AddConstant(Constant::OfTensor(Tensor::Of<float>(weights_shape, weights)), "w");
  Node node;
  node.op = op;
  node.inputs = {left, right};
  if (op == OpKind::kConv) {
    node.attributes =
        std::make_shared<const Attributes>(Attributes{{"pads", std::vector<int64_t>{1, 1, 1, 1}}});
  }
  builder.AddOutput(builder.AddNode(node, {{DataType::kFloat32, output}})[0]);
  absl::StatusOr<Graph> graph = std::move(builder).Finish();
  EXPECT_TRUE(graph.ok()) << graph.status();
  return graph.ok() ? *std::move(graph) : Graph();
}

class Bf16KernelsTest : public testing::Test, protected WithExecutor {
 protected:
  void SetUp() override { Open("cpu", 0); }

  static Graph Product(int depth, const std::vector<float>& weights) {
    return LayerOf(OpKind::kMatMul, {kBf16Rows, depth}, {depth, kBf16Columns},
                   {kBf16Rows, kBf16Columns}, weights);
  }

  absl::StatusOr<std::unique_ptr<Executable>> Load(const Graph& graph, const std::string& variant) {
    const bool is_product = graph.node(0).op == OpKind::kMatMul;
    const Format format = is_product ? Format::kPlain : Format::kChannelsLast;
    Kernel kernel{
        .family = is_product ? "matmul_bf16" : "conv_bf16", .variant = variant, .nodes = {0}};
    kernel.input_formats = {format};
    kernel.output_formats = {format};
    return executor_->LoadKernel(graph, kernel, NoWeights());
  }

  Tensor Run(const Graph& graph, const std::string& variant, const Tensor& input) {
    absl::StatusOr<std::unique_ptr<Executable>> executable = Load(graph, variant);
    EXPECT_TRUE(executable.ok()) << executable.status();
    if (!executable.ok()) return {};
    const absl::StatusOr<std::vector<Tensor>> outputs = (*executable)->Run({input});
    EXPECT_TRUE(outputs.ok()) << outputs.status();
    return outputs.ok() ? (*outputs)[0] : Tensor();
  }

  // The same numbers are finite, infinite and none, and finite ones are off by no more than
  // `error_max`.
  static void ExpectNear(const Tensor& actual, const Tensor& expected, float error_max) {
    ASSERT_EQ(actual.type().elements(), expected.type().elements());
    for (int64_t i = 0; i < expected.type().elements(); ++i) {
      const float wanted = expected.at<float>(i);
      const float got = actual.at<float>(i);
      ASSERT_EQ(std::isnan(got), std::isnan(wanted)) << i;
      if (std::isinf(wanted)) {
        ASSERT_EQ(got, wanted) << i;
      } else if (!std::isnan(wanted)) {
        ASSERT_NEAR(got, wanted, error_max) << i;
      }
    }
  }
};

// Relative to the sum of the products' magnitudes, of depths with and without tails.
TEST_F(Bf16KernelsTest, ErrorsAreThoseOfTheBitsThatAreMultiplied) {
  for (const int depth : {200, 289}) {
    const std::vector<float> weights = RandomNumbers(depth * kBf16Columns, 2);
    const std::vector<float> rows = RandomNumbers(kBf16Rows * depth, 3);
    const Graph graph = Product(depth, weights);
    double errors[3] = {};
    const char* const variants[] = {"x1", "x3", "x6"};
    for (int v = 0; v < 3; ++v) {
      const Tensor actual = Run(graph, variants[v], Tensor::Of<float>({kBf16Rows, depth}, rows));
      for (int m = 0; m < kBf16Rows; ++m) {
        for (int n = 0; n < kBf16Columns; ++n) {
          double exact = 0;
          double magnitude = 0;
          for (int k = 0; k < depth; ++k) {
            const double product =
                static_cast<double>(rows[m * depth + k]) * weights[k * kBf16Columns + n];
            exact += product;
            magnitude += std::abs(product);
          }
          errors[v] = std::max(
              errors[v], std::abs(actual.at<float>(m * kBf16Columns + n) - exact) / magnitude);
        }
      }
    }
    RecordProperty("errors", absl::StrCat(errors[0], " ", errors[1], " ", errors[2]));
    EXPECT_LT(errors[0], std::exp2(-8)) << depth;
    EXPECT_GT(errors[0], std::exp2(-14)) << depth;
    EXPECT_LT(errors[1], std::exp2(-16)) << depth;
    EXPECT_LT(errors[2], std::exp2(-20)) << depth;
    EXPECT_GT(errors[1], errors[2]) << depth;
  }
}

// As layers are admitted: relative to the row's largest exact value.
TEST_F(Bf16KernelsTest, SixProductsAreAsExactAsASerialSumOfFloats) {
  for (const int depth : {256, 1024}) {
    const std::vector<float> weights = RandomNumbers(depth * kBf16Columns, 12);
    const std::vector<float> rows = RandomNumbers(kBf16Rows * depth, 13);
    const Tensor actual =
        Run(Product(depth, weights), "x6", Tensor::Of<float>({kBf16Rows, depth}, rows));
    double error = 0;
    double serial_error = 0;
    for (int m = 0; m < kBf16Rows; ++m) {
      double largest = 0;
      double row_error = 0;
      double row_serial_error = 0;
      for (int n = 0; n < kBf16Columns; ++n) {
        double exact = 0;
        float serial = 0;
        for (int k = 0; k < depth; ++k) {
          const float left = rows[m * depth + k];
          const float right = weights[k * kBf16Columns + n];
          exact += static_cast<double>(left) * right;
          serial = std::fma(left, right, serial);
        }
        largest = std::max(largest, std::abs(exact));
        row_error = std::max(row_error, std::abs(actual.at<float>(m * kBf16Columns + n) - exact));
        row_serial_error = std::max(row_serial_error, std::abs(serial - exact));
      }
      error = std::max(error, row_error / largest);
      serial_error = std::max(serial_error, row_serial_error / largest);
    }
    RecordProperty(absl::StrCat("errors_", depth), absl::StrCat(error, " ", serial_error));
    EXPECT_LT(error, 1e-6) << depth;
    EXPECT_LT(error, serial_error) << depth;
  }
}

TEST_F(Bf16KernelsTest, RowsThatAreNotFiniteAreRightAndTouchNoOther) {
  constexpr int kDepth = 200;
  std::vector<float> rows = RandomNumbers(kBf16Rows * kDepth, 4);
  std::vector<float> weights = RandomNumbers(kDepth * kBf16Columns, 5);
  rows[3 * kDepth + 7] = kInfinity;
  rows[4 * kDepth + 7] = -kInfinity;
  rows[5 * kDepth + 9] = kNan;
  rows[6 * kDepth + 1] = kInfinity;
  rows[6 * kDepth + 2] = kInfinity;
  // Infinite in its planes' products, with both signs, or only in their sum, or not at all.
  rows[8 * kDepth + 20] = 3e38f;
  rows[9 * kDepth + 21] = -kLargest;
  rows[10 * kDepth + 22] = kLargest;
  for (int n = 0; n < kBf16Columns; ++n) {
    weights[20 * kBf16Columns + n] = 1e4f;
    weights[21 * kBf16Columns + n] = 1;
    weights[22 * kBf16Columns + n] = 0.999f;
  }
  weights[7 * kBf16Columns + 3] = 0;
  weights[7 * kBf16Columns + 4] = 1e-20f;
  weights[7 * kBf16Columns + 5] = -1e-40f;
  const Graph graph = Product(kDepth, weights);
  const Tensor input = Tensor::Of<float>({kBf16Rows, kDepth}, rows);
  const absl::StatusOr<std::vector<Tensor>> expected = EvaluateGraph(graph, {input}, NoWeights());
  ASSERT_TRUE(expected.ok()) << expected.status();
  const Tensor actual = Run(graph, "x6", input);
  for (int m = 0; m < kBf16Rows; ++m) {
    const bool is_large = m == 8 || m == 9 || m == 10;
    for (int n = 0; n < kBf16Columns; ++n) {
      const float wanted = (*expected)[0].at<float>(m * kBf16Columns + n);
      const float got = actual.at<float>(m * kBf16Columns + n);
      ASSERT_EQ(std::isnan(got), std::isnan(wanted)) << m << ", " << n;
      if (std::isinf(wanted)) {
        ASSERT_EQ(got, wanted) << m << ", " << n;
      } else if (!std::isnan(wanted)) {
        // Each row has numbers of 1e4 times its weight of 20.
        ASSERT_NEAR(got, wanted, is_large ? 1e32f : 0.05f) << m << ", " << n;
      }
    }
  }
}

TEST_F(Bf16KernelsTest, APixelThatIsNotFiniteTouchesNoOther) {
  constexpr int kChannels = 40;
  constexpr int kSize = 9;
  const Shape image = {2, kChannels, kSize, kSize};
  std::vector<float> weights = RandomNumbers(kChannels * kChannels * 9, 6);
  for (int tap = 0; tap < 9; ++tap) weights[(3 * kChannels + 7) * 9 + tap] = 0;
  const Graph graph = LayerOf(OpKind::kConv, image, {kChannels, kChannels, 3, 3}, image, weights);
  for (const float value : {kInfinity, kNan, 1e38f}) {
    std::vector<float> numbers = RandomNumbers(2 * kChannels * kSize * kSize, 7);
    numbers[((kChannels + 7) * kSize + 5) * kSize + 8] = value;
    const Tensor input = Tensor::Of<float>(image, numbers);
    const absl::StatusOr<std::vector<Tensor>> expected = EvaluateGraph(graph, {input}, NoWeights());
    ASSERT_TRUE(expected.ok()) << expected.status();
    const Tensor actual = Run(graph, "x6", input);
    for (int64_t i = 0; i < 2 * kChannels * kSize * kSize; ++i) {
      const float wanted = (*expected)[0].at<float>(i);
      const float got = actual.at<float>(i);
      ASSERT_EQ(std::isnan(got), std::isnan(wanted)) << value << ", " << i;
      if (std::isinf(wanted)) {
        ASSERT_EQ(got, wanted) << value << ", " << i;
      } else if (!std::isnan(wanted)) {
        ASSERT_NEAR(got, wanted, std::abs(wanted) < 1e6f ? 2e-4f : 1e33f) << value << ", " << i;
      }
    }
  }
}

TEST_F(Bf16KernelsTest, ChannelsOfAnyNumberAreRight) {
  for (const int channels : {16, 31, 33, 64, 97}) {
    for (const int results : {17, 97}) {
      const Shape image = {1, channels, 16, 9};
      const Shape result = {1, results, 16, 9};
      const Graph graph = LayerOf(OpKind::kConv, image, {results, channels, 3, 3}, result,
                                  RandomNumbers(results * channels * 9, 8));
      if (!Load(graph, "x3").ok()) continue;  // too small to be offered
      const Tensor input = Tensor::Of<float>(image, RandomNumbers(channels * 144, 9));
      const absl::StatusOr<std::vector<Tensor>> expected =
          EvaluateGraph(graph, {input}, NoWeights());
      ASSERT_TRUE(expected.ok()) << expected.status();
      SCOPED_TRACE(absl::StrCat(channels, " to ", results));
      ExpectNear(Run(graph, "x3", input), (*expected)[0], 3e-3f);
    }
  }
}

TEST_F(Bf16KernelsTest, RefusesWeightsThatAreNotFinite) {
  for (const float weight : {kInfinity, -kInfinity, kNan}) {
    std::vector<float> weights = RandomNumbers(200 * kBf16Columns, 10);
    weights[1234] = weight;
    EXPECT_TRUE(absl::IsInvalidArgument(Load(Product(200, weights), "x6").status())) << weight;
  }
}

TEST_F(Bf16KernelsTest, RefusesAnotherVariant) {
  const Graph graph = Product(200, RandomNumbers(200 * kBf16Columns, 11));
  for (const char* const variant : {"", "x2", "x8", "x66"}) {
    EXPECT_TRUE(absl::IsInvalidArgument(Load(graph, variant).status())) << variant;
  }
}

}  // namespace
}  // namespace plait
