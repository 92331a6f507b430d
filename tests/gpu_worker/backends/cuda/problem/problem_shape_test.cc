#include "gpu_worker/backends/cuda/problem/problem_shape.h"

#include <cmath>
#include <iterator>
#include <limits>

#include "gpu_worker/backends/cuda/problem/host_operands.h"
#include "gtest/gtest.h"

namespace plait::cuda {
namespace {

TEST(ProblemShapeTest, CountsAConvolution) {
  ConvProblem p{.n = 1, .c = 64, .h = 56, .w = 56, .k = 128, .r = 3, .s = 3};
  p.stride = {2, 2};
  p.pad = {1, 1, 1, 1};
  p.bias = p.residual = true;
  const auto shape = ShapeOf(p);
  ASSERT_TRUE(shape.ok());
  EXPECT_EQ(shape.value().outputs, std::vector<int64_t>{128 * 28 * 28});
  EXPECT_EQ(shape.value().weights, 128 * 64 * 9);
  EXPECT_EQ(shape.value().bias, 128);
  EXPECT_EQ(shape.value().residual, 128 * 28 * 28);
  EXPECT_EQ(shape.value().flops, int64_t{2} * 128 * 28 * 28 * 64 * 9);
  EXPECT_EQ(BytesOf(shape.value(), p, Precision::kFp16),
            2 * (64 * 56 * 56 + 128 * 64 * 9 + 128 + 2 * 128 * 28 * 28));
}

TEST(ProblemShapeTest, RefusesHostileProblems) {
  const Problem hostile[] = {
      ConvProblem{.n = 0},
      ConvProblem{.n = int64_t{1} << 40, .c = int64_t{1} << 40},
      ConvProblem{.c = 3, .h = 4, .w = 4, .k = 4, .groups = 2},
      ConvProblem{.h = 2, .w = 2, .r = 5, .s = 5},
      ConvProblem{.h = 8, .w = 8, .stride = {0, 1}},
      ConvProblem{.h = 8, .w = 8, .pad = {-1, 0, 0, 0}},
      GemmProblem{.m = -1},
      GemmProblem{.m = 1 << 20, .n = 1 << 20},
      AttentionProblem{.heads = 0},
      PoolProblem{.h = 4, .w = 4, .r = 2, .s = 2, .pad = {2, 0, 0, 0}},
      PoolProblem{.h = 4, .w = 4, .r = 2, .s = 2, .output_h = 9, .output_w = 1},
      RowsProblem{.rows = 0},
      RowsProblem{.rows = 4, .inner = 3},
      RowsProblem{.rows = 4, .inner = 0},
      RowsProblem{.rows = 4, .channels = 2},
      RowsProblem{.kind = RowsProblem::Kind::kInstanceNorm, .rows = 4, .channels = 3},
      RowsProblem{.kind = RowsProblem::Kind::kInstanceNorm, .rows = 4, .residual = true},
      RowsProblem{.kind = RowsProblem::Kind::kRmsNorm, .rows = 4, .inner = 2},
      RowsProblem{.kind = RowsProblem::Kind::kSoftmax, .residual = true},
      ElementwiseProblem{"add(x0,x1)", {4}, {{4}, {3}}},
      ElementwiseProblem{"add(x0,x1)", {4}, {{4}}},
      MovementProblem{},
      MovementProblem{
          .kind = MovementProblem::Kind::kTranspose, .inputs = {{2, 3}}, .permutation = {0, 0}},
      MovementProblem{
          .kind = MovementProblem::Kind::kSlice, .inputs = {{4}}, .starts = {3}, .sizes = {2}},
      MovementProblem{.kind = MovementProblem::Kind::kSlice,
                      .inputs = {{4}},
                      .starts = {INT64_MAX},
                      .sizes = {INT64_MAX}},
      MovementProblem{.kind = MovementProblem::Kind::kConcat, .inputs = {{2, 3}, {2, 4}}},
      MovementProblem{.kind = MovementProblem::Kind::kPad,
                      .inputs = {{4}},
                      .starts = {4},
                      .sizes = {0},
                      .fill = MovementProblem::Fill::kReflect},
      MovementProblem{.kind = MovementProblem::Kind::kPad,
                      .inputs = {{4}},
                      .starts = {-1},
                      .sizes = {0},
                      .fill = MovementProblem::Fill::kWrap},
      MovementProblem{.kind = MovementProblem::Kind::kPad,
                      .inputs = {{4}},
                      .starts = {1},
                      .sizes = {0},
                      .value = 0.5,
                      .type = ElementType::kInt32},
      MovementProblem{.kind = MovementProblem::Kind::kTranspose,
                      .inputs = {{4}},
                      .permutation = {0},
                      .type = ElementType::kInt32,
                      .cast_to = ElementType::kFloat},
      MovementProblem{
          .inputs = {{4}}, .type = ElementType::kFloat32, .cast_to = ElementType::kFloat},
      // A type too few, and a result that is not what the expression gives.
      ElementwiseProblem{
          "equal(x0,x1)", {4}, {{4}, {4}}, {ElementType::kInt64}, ElementType::kBool},
      ElementwiseProblem{"equal(x0,x1)", {4}, {{4}, {4}}, {}, ElementType::kFloat},
      AttentionProblem{.scale = std::numeric_limits<float>::infinity()},
      ResizeProblem{.rows = {2, 1, {0, 1}, {1, 1}}, .columns = {2, 1, {0, 2}, {1, 1}}},
      ResizeProblem{.rows = {2, 1, {0, 1}, {1, 1}}, .columns = {2, 1, {0, -1}, {1, 1}}},
      ResizeProblem{.rows = {2, 1, {0, 1}, {1, 1}}, .columns = {2, 2, {0, 1, 1}, {1, 1, 1}}},
      ResizeProblem{.rows = {2, 1, {0, 1}, {1}}, .columns = {2, 1, {0, 1}, {1, 1}}},
      ResizeProblem{.rows = {2, 0, {0, 1}, {1, 1}}, .columns = {2, 1, {0, 1}, {1, 1}}},
      ResizeProblem{.rows = {2, 1, {}, {}}, .columns = {2, 1, {0, 1}, {1, 1}}},
      ResizeProblem{.rows = {2, 1, {0, 1}, {NAN, 1}}, .columns = {2, 1, {0, 1}, {1, 1}}},
      RecurrenceProblem{.columns = 4, .steps = {"1"}, .outputs = {{0}}},
      RecurrenceProblem{.columns = 0, .inputs = {1}, .outputs = {{0}}},
      RecurrenceProblem{.columns = 4, .inputs = {int64_t{1} << 30}, .outputs = {{0}}},
      // It reads itself, there is no such value, and a mask is no row.
      RecurrenceProblem{.columns = 4, .inputs = {1}, .steps = {"exp(x1)"}, .outputs = {{1}}},
      RecurrenceProblem{.columns = 4, .inputs = {1}, .steps = {"exp(x0)"}, .outputs = {{2}}},
      RecurrenceProblem{.columns = 4, .inputs = {1}, .steps = {"exp(x0)"}, .outputs = {{-1}}},
      RecurrenceProblem{.columns = 4, .inputs = {1}, .steps = {"exp(x0)"}, .outputs = {{}}},
      RecurrenceProblem{.columns = 4, .inputs = {1}, .steps = {"less(x0,x0)"}, .outputs = {{0}}},
      RecurrentLayerProblem{.hidden = 0},
      RecurrentLayerProblem{.steps = 5000},
      RecurrentLayerProblem{.batch = 1 << 20, .input = 1 << 12},
      RecurrentLayerProblem{.hidden = 1 << 15},
      RecurrentLayerProblem{.batch = 1 << 15, .hidden = 1 << 14},
      RecurrentLayerProblem{.y = false},
      RecurrentLayerProblem{.activation = Activation::kRelu},
      RecurrentLayerProblem{.linear_before_reset = true},
      RecurrentLayerProblem{.kind = RecurrentLayerProblem::Kind::kGru, .initial_c = true},
      RecurrentLayerProblem{.kind = RecurrentLayerProblem::Kind::kRnn, .y_c = true},
      RecurrentLayerProblem{.kind = RecurrentLayerProblem::Kind::kRnn,
                            .activation = Activation::kSigmoid},
      AttentionProblem{
          .heads = 1 << 10, .query = 1 << 11, .keys = 1 << 11, .mask = true, .mask_heads = true},
      RowsProblem{.kind = RowsProblem::Kind::kLayerNorm, .epsilon = -1e-5F},
      RowsProblem{.kind = RowsProblem::Kind::kLayerNorm, .epsilon = NAN},
      // A result with a gap, one whose elements share places, and strides that no memory has.
      AttentionProblem{.query = 2, .dim = 2, .result_strides = {{4, 4, 3, 1}}},
      AttentionProblem{.query = 2, .dim = 2, .result_strides = {{4, 4, 1, 1}}},
      AttentionProblem{.keys = 2, .key_strides = {{0, 0, -1, 1}}},
      AttentionProblem{.keys = 2, .value_strides = {{0, 0, INT64_MAX, 1}}},
      SeparableConvProblem{},
  };
  int accepted = 0;
  for (const Problem& problem : hostile) {
    const auto shape = ShapeOf(problem);
    if (shape.ok()) {
      ++accepted;
      EXPECT_EQ(&problem, std::end(hostile) - 1) << ProblemName(problem) << " accepted";
    } else {
      EXPECT_EQ(shape.error().code, ErrorCode::kInvalid);
    }
  }
  EXPECT_LE(accepted, 1);  // a separable convolution of 1 x 1 x 1 x 1 is one
}

TEST(ProblemShapeTest, CountsARecurrentLayer) {
  const RecurrentLayerProblem p{.direction = RecurrentLayerProblem::Direction::kBidirectional,
                                .steps = 7,
                                .batch = 3,
                                .input = 5,
                                .hidden = 4,
                                .bias = true,
                                .initial_c = true,
                                .y_h = true};
  const ProblemShape shape = ShapeOf(p).value();
  EXPECT_EQ(shape.inputs, (std::vector<int64_t>{7 * 3 * 5, 2 * 3 * 4}));
  EXPECT_EQ(shape.weights, 2 * 4 * 4 * 5);
  EXPECT_EQ(shape.second_weights, 2 * 4 * 4 * 4);
  EXPECT_EQ(shape.bias, 2 * 2 * 4 * 4);
  EXPECT_EQ(shape.outputs, (std::vector<int64_t>{7 * 2 * 3 * 4, 2 * 3 * 4}));
  EXPECT_EQ(shape.flops, 7 * 2 * 3 * 4 * 4 * 2 * (5 + 4));
  EXPECT_FALSE(LayoutMatters(p));
}

TEST(ProblemShapeTest, StridesFollowTheLayout) {
  EXPECT_EQ(StridesOf({2, 3, 4, 5}, MemoryLayout::kNchw), (std::vector<int64_t>{60, 20, 5, 1}));
  EXPECT_EQ(StridesOf({2, 3, 4, 5}, MemoryLayout::kNhwc), (std::vector<int64_t>{60, 1, 15, 3}));
  EXPECT_EQ(StridesOf({7, 5}, MemoryLayout::kNhwc), (std::vector<int64_t>{5, 1}));
}

TEST(HostOperandsTest, StorageRoundTripsAndRoundsToNearestEven) {
  const std::vector<float> values = {
      0.0f, -1.5f, 65504.0f, 65520.0f, 6e-8f, 1.0f + 1.0f / 2048, 1.0f + 3.0f / 2048};
  const auto bytes = ToStorage(values, Precision::kFp16);
  const auto back = FromStorage(bytes.data(), values.size(), Precision::kFp16);
  EXPECT_EQ(back[1], -1.5f);
  EXPECT_EQ(back[2], 65504.0f);
  EXPECT_TRUE(std::isinf(back[3]));
  EXPECT_FLOAT_EQ(back[4], 5.9604645e-8f);
  EXPECT_EQ(back[5], 1.0f);
  EXPECT_EQ(back[6], 1.0f + 1.0f / 512);
  EXPECT_EQ(RoundToStorage(1.0f + 1.0f / 256, Precision::kBf16), 1.0f);
  EXPECT_EQ(RoundToStorage(1.0f + 3.0f / 256, Precision::kBf16), 1.0f + 1.0f / 64);
  EXPECT_EQ(RoundToStorage(0.1f, Precision::kTf32), 0.1f);
}

TEST(ProblemShapeTest, CountsBytesOfEachType) {
  const ElementwiseProblem mask{"where(x0,float(x1),x2)",
                                {3, 5},
                                {{3, 5}, {5}, {}},
                                {ElementType::kBool, ElementType::kInt64, ElementType::kFloat}};
  const ProblemShape shape = ShapeOf(mask).value();
  EXPECT_EQ(BytesOf(shape, mask, Precision::kStrict), 15 * 1 + 5 * 8 + 1 * 4 + 15 * 4);
  EXPECT_EQ(BytesOf(shape, mask, Precision::kFp16), 15 * 1 + 5 * 8 + 1 * 2 + 15 * 2);
  EXPECT_EQ(InputType(mask, 1), ElementType::kInt64);
  EXPECT_FALSE(IsOfFloats(mask));
  for (const char* text : {"float(x0)", "where(greater(x0,1),x0,1)", "equal(x0,x0)"}) {
    EXPECT_FALSE(IsOfFloats(ElementwiseProblem{text, {4}, {{4}}})) << text;
  }
  EXPECT_TRUE(IsOfFloats(ElementwiseProblem{"add(x0,1)", {4}, {{4}}}));
  const MovementProblem gather{
      .kind = MovementProblem::Kind::kGather, .inputs = {{9, 3}, {4}}, .type = ElementType::kBool};
  EXPECT_EQ(BytesOf(ShapeOf(gather).value(), gather, Precision::kStrict), 12 + 12 + 4 * 8);
  EXPECT_EQ(InputType(gather, 0), ElementType::kBool);
  EXPECT_EQ(InputType(gather, 1), ElementType::kInt64);
  const MovementProblem cast{.kind = MovementProblem::Kind::kTranspose,
                             .inputs = {{9, 3}},
                             .permutation = {1, 0},
                             .type = ElementType::kFloat32,
                             .cast_to = ElementType::kFloat};
  EXPECT_EQ(BytesOf(ShapeOf(cast).value(), cast, Precision::kBf16), 27 * (4 + 2));
  EXPECT_FALSE(IsOfFloats(cast));
}

TEST(HostOperandsTest, IntegersAndBoolsRoundTrip) {
  const std::vector<float> values = {-4, 0, 1, 3};
  for (const ElementType type : {ElementType::kInt64, ElementType::kInt32, ElementType::kInt16}) {
    const std::vector<std::byte> bytes = ToStorage(values, type, Precision::kFp16);
    EXPECT_EQ(bytes.size(), 4 * static_cast<size_t>(ElementBytes(type, Precision::kFp16)));
    EXPECT_EQ(FromStorage(bytes.data(), 4, type, Precision::kFp16), values);
  }
  const std::vector<std::byte> bytes = ToStorage({0, 1}, ElementType::kBool, Precision::kStrict);
  EXPECT_EQ(bytes, std::vector<std::byte>({std::byte{0}, std::byte{1}}));
  const std::byte unwritten{0xff};
  EXPECT_EQ(FromStorage(&unwritten, 1, ElementType::kBool, Precision::kStrict)[0], 255);
}

TEST(HostOperandsTest, AreSeededAndNeverZero) {
  const Problem problem = GemmProblem{.m = 64, .n = 64, .k = 64, .bias = true};
  const auto shape = ShapeOf(problem);
  const auto a = MakeHostOperands(problem, shape.value(), Precision::kStrict, 1);
  const auto b = MakeHostOperands(problem, shape.value(), Precision::kStrict, 1);
  const auto c = MakeHostOperands(problem, shape.value(), Precision::kStrict, 2);
  EXPECT_EQ(a.inputs, b.inputs);
  EXPECT_NE(a.inputs, c.inputs);
  double sum = 0, squares = 0;
  for (float x : a.inputs[0]) sum += x, squares += x * x;
  EXPECT_NEAR(sum / 4096, 0, 0.1);
  EXPECT_NEAR(squares / 4096, 1, 0.1);
}

}  // namespace
}  // namespace plait::cuda
