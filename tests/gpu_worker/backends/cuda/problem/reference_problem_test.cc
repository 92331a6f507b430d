#include "gpu_worker/backends/cuda/problem/reference_problem.h"

#include <cmath>
#include <limits>

#include "gtest/gtest.h"

namespace plait::cuda {
namespace {

constexpr int64_t kEveryElement = int64_t{1} << 40;

std::vector<double> All(const Problem& problem, MemoryLayout layout, const HostOperands& operands) {
  const auto shape = ShapeOf(problem);
  std::vector<double> values;
  for (const auto& element :
       ComputeReference(problem, shape.value(), layout, operands, kEveryElement, 1)) {
    values.push_back(element.value);
  }
  return values;
}

// Worked out by hand: a 2 x 2 window of ones over 1..9, two channels in the second layout.
TEST(ReferenceProblemTest, ConvolvesByHand) {
  const ConvProblem p{.n = 1, .c = 1, .h = 3, .w = 3, .k = 1, .r = 2, .s = 2};
  HostOperands operands;
  operands.inputs = {{1, 2, 3, 4, 5, 6, 7, 8, 9}};
  operands.weights = {1, 1, 1, 1};
  EXPECT_EQ(All(p, MemoryLayout::kNchw, operands), (std::vector<double>{12, 16, 24, 28}));
}

TEST(ReferenceProblemTest, LayoutsHoldTheSameNumbers) {
  ConvProblem p{.n = 1, .c = 2, .h = 2, .w = 2, .k = 2, .r = 1, .s = 1};
  p.bias = p.residual = true;
  p.activation = Activation::kRelu;
  HostOperands nchw;
  nchw.inputs = {{1, 2, 3, 4, 10, 20, 30, 40}};
  nchw.weights = {1, -1, 2, 0.5};
  nchw.bias = {100, -7};
  nchw.residual = {0, 1, 2, 3, 4, 5, 6, 7};
  HostOperands nhwc = nchw;
  nhwc.inputs = {{1, 10, 2, 20, 3, 30, 4, 40}};
  nhwc.residual = {0, 4, 1, 5, 2, 6, 3, 7};
  EXPECT_EQ(All(p, MemoryLayout::kNchw, nchw),
            (std::vector<double>{91, 83, 75, 67, 4, 12, 20, 28}));
  EXPECT_EQ(All(p, MemoryLayout::kNhwc, nhwc),
            (std::vector<double>{91, 4, 83, 12, 75, 20, 67, 28}));
}

TEST(ReferenceProblemTest, MultipliesTransposed) {
  HostOperands operands;
  operands.inputs = {{1, 2, 3, 4, 5, 6}};
  operands.weights = {1, 0, 2, 0, 1, 3};
  // a is stored 3 x 2, w is stored 2 x 3.
  const GemmProblem p{.m = 2, .n = 2, .k = 3, .transpose_a = true, .transpose_b = true};
  EXPECT_EQ(All(p, MemoryLayout::kNchw, operands), (std::vector<double>{11, 18, 14, 22}));
}

TEST(ReferenceProblemTest, AttentionOfEqualKeysIsTheMean) {
  AttentionProblem p{.batch = 1, .heads = 1, .query = 2, .keys = 2, .dim = 1};
  HostOperands operands;
  operands.inputs = {{3, -2}, {1, 1}, {10, 20}};
  EXPECT_EQ(All(p, MemoryLayout::kNchw, operands), (std::vector<double>{15, 15}));
  p.causal = true;
  EXPECT_EQ(All(p, MemoryLayout::kNchw, operands), (std::vector<double>{10, 15}));
}

TEST(ReferenceProblemTest, AttentionHasItsOwnScale) {
  AttentionProblem p{.batch = 1, .heads = 1, .query = 1, .keys = 2, .dim = 4};
  HostOperands operands;
  operands.inputs = {{1, 0, 0, 0}, {2, 0, 0, 0, 0, 0, 0, 0}, {1, 1, 1, 1, 0, 0, 0, 0}};
  const auto first = [&] { return All(p, MemoryLayout::kNchw, operands)[0]; };
  EXPECT_NEAR(first(), 1 / (1 + std::exp(-1.0)), 1e-12) << "2 / sqrt(4)";
  p.scale = 3.0F;
  EXPECT_NEAR(first(), 1 / (1 + std::exp(-6.0)), 1e-12);
  p.scale = 0.0F;
  EXPECT_NEAR(first(), 0.5, 1e-12);
}

// Two batches, two heads, two queries and two keys; the values are 0 and 1, so that an output is
// the weight of the second key, and all scores are the mask's.
TEST(ReferenceProblemTest, AMaskRepeatsWhereItHasOne) {
  AttentionProblem p{.batch = 2, .heads = 2, .query = 2, .keys = 2, .dim = 1, .mask = true};
  HostOperands operands;
  operands.inputs = {std::vector<float>(8, 0), std::vector<float>(8, 0), {}, {}};
  for (int i = 0; i < 8; ++i) operands.inputs[2].push_back(static_cast<float>(i % 2));
  for (int bits = 0; bits < 8; ++bits) {
    p.mask_batch = (bits & 1) != 0;
    p.mask_heads = (bits & 2) != 0;
    p.mask_query = (bits & 4) != 0;
    // Row r of the mask hides neither key, but adds r to the second one's score.
    std::vector<double> expected;
    const int64_t queries = p.mask_query ? 2 : 1, heads = p.mask_heads ? 2 : 1;
    for (int64_t i = 0; i < 8; ++i) {
      const int64_t b = i / 4, h = i / 2 % 2, q = i % 2;
      const int64_t row = ((p.mask_batch ? b : 0) * heads + (p.mask_heads ? h : 0)) * queries +
                          (p.mask_query ? q : 0);
      expected.push_back(1 / (1 + std::exp(-static_cast<double>(row))));
    }
    const int64_t rows = (p.mask_batch ? 2 : 1) * heads * queries;
    operands.inputs[3].clear();
    for (int64_t r = 0; r < rows; ++r) {
      operands.inputs[3].push_back(0);
      operands.inputs[3].push_back(static_cast<float>(r));
    }
    ASSERT_EQ(ShapeOf(p).value().inputs[3], 2 * rows);
    const std::vector<double> values = All(p, MemoryLayout::kNchw, operands);
    for (size_t i = 0; i < 8; ++i) EXPECT_NEAR(values[i], expected[i], 1e-12) << bits << " " << i;
  }
}

TEST(ReferenceProblemTest, LayerNormHasItsOwnEpsilon) {
  RowsProblem p{.kind = RowsProblem::Kind::kLayerNorm, .rows = 1, .columns = 2, .epsilon = 3.0F};
  HostOperands operands;
  operands.inputs = {{-1, 1}};
  operands.weights = {1, 10};
  operands.bias = {0, 2};
  const std::vector<double> values = All(p, MemoryLayout::kNchw, operands);
  EXPECT_DOUBLE_EQ(values[0], -0.5);
  EXPECT_DOUBLE_EQ(values[1], 7);
}

TEST(ReferenceProblemTest, AveragesWithAndWithoutPadding) {
  PoolProblem p{.mode = PoolProblem::Mode::kAverage,
                .n = 1,
                .c = 1,
                .h = 2,
                .w = 2,
                .r = 2,
                .s = 2,
                .stride = {2, 2},
                .pad = {1, 1, 0, 0},
                .output_h = 1,
                .output_w = 1};
  HostOperands operands;
  operands.inputs = {{8, 1, 2, 3}};
  EXPECT_EQ(All(p, MemoryLayout::kNchw, operands), std::vector<double>{8});
  p.mode = PoolProblem::Mode::kAverageWithPadding;
  EXPECT_EQ(All(p, MemoryLayout::kNchw, operands), std::vector<double>{2});
}

TEST(ReferenceProblemTest, NegativeIndicesCountFromTheEnd) {
  const MovementProblem p{
      .kind = MovementProblem::Kind::kGather, .inputs = {{3, 1}, {4}}, .axis = 0};
  HostOperands operands;
  operands.inputs = {{10, 20, 30}, {}};
  operands.indices = {-1, 0, -3, 2};
  EXPECT_EQ(All(p, MemoryLayout::kNchw, operands), (std::vector<double>{30, 10, 10, 30}));
}

TEST(ReferenceProblemTest, ResizesByTapsOfBothAxes) {
  // Rows repeat, columns are halves of two.
  const ResizeProblem p{.rows = {2, 1, {0, 0, 1}, {1, 1, 1}},
                        .columns = {4, 2, {0, 1, 2, 3}, {0.5F, 0.5F, 0.25F, 0.75F}}};
  HostOperands operands;
  operands.inputs = {{1, 3, 4, 8, 5, 7, 0, 4}};
  const std::vector<ReferenceElement> elements =
      ComputeReference(p, ShapeOf(p).value(), MemoryLayout::kNchw, operands, 1000, 1);
  std::vector<double> values;
  for (const ReferenceElement& element : elements) values.push_back(element.value);
  EXPECT_EQ(values, std::vector<double>({2, 7, 2, 7, 6, 3}));
}

// An RNN with relu, backwards: h = relu(2 x + 3 h + 1), of h = 1 before.
TEST(ReferenceProblemTest, ARecurrentLayerHandsItsStateOn) {
  const RecurrentLayerProblem p{.kind = RecurrentLayerProblem::Kind::kRnn,
                                .direction = RecurrentLayerProblem::Direction::kReverse,
                                .steps = 3,
                                .bias = true,
                                .initial_h = true,
                                .activation = Activation::kRelu,
                                .y_h = true};
  HostOperands operands;
  operands.inputs = {{5, -9, 4}, {1}};
  operands.weights = {2};
  operands.second_weights = {3};
  operands.bias = {0.25F, 0.75F};
  const std::vector<ReferenceElement> elements =
      ComputeReference(p, ShapeOf(p).value(), MemoryLayout::kNchw, operands, 1000, 1);
  std::vector<double> values;
  for (const ReferenceElement& element : elements) values.push_back(element.value);
  EXPECT_EQ(values, std::vector<double>({68, 19, 12, 68}));
}

TEST(ReferenceProblemTest, StepsOfARecurrenceReadEarlierOnes) {
  // y = (a0 * b, a0 * b + a1) in each of two columns.
  const RecurrenceProblem p{.columns = 2,
                            .inputs = {2, 1},
                            .steps = {"mul(x0,x2)", "add(x3,x1)"},
                            .outputs = {{3, 4}, {1}}};
  HostOperands operands;
  operands.inputs = {{1, 2, 3, 4}, {5, 6}};
  const std::vector<ReferenceElement> elements =
      ComputeReference(p, ShapeOf(p).value(), MemoryLayout::kNchw, operands, 1000, 1);
  std::vector<double> values;
  for (const ReferenceElement& element : elements) values.push_back(element.value);
  EXPECT_EQ(values, std::vector<double>({5, 12, 8, 16, 3, 4}));
}

TEST(ReferenceProblemTest, LargeProblemsAreSampled) {
  const GemmProblem p{.m = 512, .n = 512, .k = 512};
  const auto shape = ShapeOf(p);
  const auto operands = MakeHostOperands(p, shape.value(), Precision::kStrict, 1);
  const auto sample =
      ComputeReference(p, shape.value(), MemoryLayout::kNchw, operands, 1'000'000, 1);
  EXPECT_GE(sample.size(), 64u);
  EXPECT_LT(sample.size(), 5000u);
  EXPECT_EQ(sample[0].offset, 0);
  EXPECT_EQ(sample[1].offset, 512 * 512 - 1);
}

TEST(ReferenceProblemTest, ComparesByRelativeL2AndFindsNaNOutsideOfTheSample) {
  const std::vector<ReferenceElement> reference = {{0, 0, 3}, {0, 1, 4}};
  EXPECT_NEAR(Compare(reference, {{3, 4.05f, 0}}, Precision::kStrict).relative_l2, 0.01, 1e-6);
  EXPECT_EQ(Compare(reference, {{3, 4, NAN}}, Precision::kStrict).not_numbers, 1);
  const Difference difference = Compare(reference, {{NAN, 4, 0}}, Precision::kStrict);
  EXPECT_EQ(difference.not_numbers, 1);
  EXPECT_TRUE(std::isinf(difference.relative_l2));
  EXPECT_TRUE(std::isinf(difference.largest));
}

// What the L2 norm alone lets pass in fp16: a hundred elements of a million.
TEST(ReferenceProblemTest, FewWrongElementsAreFound) {
  const Problem problem = ElementwiseProblem{"x0", {1'000'000}, {{1'000'000}}};
  std::vector<ReferenceElement> reference;
  std::vector<float> output;
  for (int i = 0; i < 1'000'000; ++i) {
    const float value = static_cast<float>(i % 21 - 10) / 6.0F;
    reference.push_back({0, i, value});
    output.push_back(value);
  }
  EXPECT_TRUE(Passes(Compare(reference, {output}, Precision::kFp16), problem, Precision::kFp16));
  for (int i = 0; i < 100; ++i) output[10'000 * i] += 0.5F;
  const Difference difference = Compare(reference, {output}, Precision::kFp16);
  EXPECT_LE(difference.relative_l2, RelativeL2Max(Precision::kFp16));
  EXPECT_NEAR(difference.largest, 0.5, 0.01);
  EXPECT_FALSE(Passes(difference, problem, Precision::kFp16));
}

TEST(ReferenceProblemTest, AnOutputIsComparedByItself) {
  // The second one is wrong altogether, and a thousand times smaller.
  const std::vector<ReferenceElement> reference = {{0, 0, 1000}, {1, 0, 1}};
  const Difference difference = Compare(reference, {{1000}, {1.5F}});
  EXPECT_NEAR(difference.relative_l2, 0.5, 1e-6);
  EXPECT_NEAR(difference.largest, 0.5, 1e-6);
}

TEST(ReferenceProblemTest, TwoProductsMayRoundTwiceInTf32) {
  const Problem attention = AttentionProblem(), gemm = GemmProblem();
  EXPECT_DOUBLE_EQ(RelativeL2Max(attention, Precision::kTf32), 2e-3);
  EXPECT_DOUBLE_EQ(RelativeL2Max(SeparableConvProblem(), Precision::kTf32), 2e-3);
  EXPECT_DOUBLE_EQ(RelativeL2Max(gemm, Precision::kTf32), 1e-3);
  EXPECT_DOUBLE_EQ(RelativeL2Max(attention, Precision::kStrict), 1e-5);
}

TEST(ReferenceProblemTest, OverflowHasToBeInfinite) {
  const std::vector<ReferenceElement> reference = {{0, 0, -1e5}, {0, 1, 1}};
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(Compare(reference, {{-kInfinity, 1}}, Precision::kFp16).relative_l2, 0);
  EXPECT_GT(Compare(reference, {{kInfinity, 1}}, Precision::kFp16).relative_l2, 1);
  EXPECT_GT(Compare(reference, {{-3, 1}}, Precision::kFp16).relative_l2, 1);
}

}  // namespace
}  // namespace plait::cuda
