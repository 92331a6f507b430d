#include <optional>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "gpu_worker/backends/cuda/offers/cuda_catalog.h"
#include "gpu_worker/backends/cuda/problem/problem_shape.h"
#include "optimizer/kernels/format_rules.h"
#include "optimizer/ops/shared/op_spec.h"
#include "tests/gpu_worker/backends/cuda/offers/problem_check.h"

namespace plait::cuda {
namespace {

// Graphs of a few nodes, and the kernels that must be offered there: problems and operators.
struct OfferCase {
  const char* name;
  const char* graph;
  std::vector<std::string> offered;
};

const OfferCase kCases[] = {
    {"ConvBiasResidualRelu",
     R"(graph {
  input %x: float32[2,8,7,5]
  input %r: float32[2,16,4,3]
  const %w: float32[16,4,3,3] = synthetic 1
  const %b: float32[16] = synthetic 2
  %c = Conv(%x, %w, %b) {group=2, pads=[1,1,1,1], strides=[2,2]}
  %d = Add(%r, %c) {}
  %e = Relu(%d) {}
  output %e
})",
     {"conv Conv", "conv Conv+Add+Relu", "elementwise Add+Relu"}},
    {"ConvBiasBehindAndRelu6",
     R"(graph {
  input %x: float32[1,3,9,9]
  const %w: float32[8,3,3,3] = synthetic 1
  const %b: float32[8,1,1] = synthetic 2
  const %low: float32[] = [0]
  const %high: float32[] = [6]
  %c = Conv(%x, %w) {dilations=[2,2], pads=[0,1,2,3]}
  %d = Add(%c, %b) {}
  %e = Clip(%d, %low, %high) {}
  output %e
})",
     {"conv Conv+Add+Clip"}},
    {"ReluInFrontAndSwishBehind",
     R"(graph {
  input %x: float32[1,4,6,6]
  const %w: float32[4,4,1,1] = synthetic 1
  %a = Relu(%x) {}
  %c = Conv(%a, %w) {}
  %s = Sigmoid(%c) {}
  %y = Mul(%s, %c) {}
  output %y
})",
     {"conv Relu+Conv+Sigmoid+Mul", "conv Conv+Sigmoid+Mul", "elementwise Relu"}},
    {"Rows1d",
     R"(graph {
  input %x: float32[2,4,11]
  const %w: float32[6,4,3] = synthetic 1
  %c = Conv(%x, %w) {pads=[2,0], strides=[2]}
  output %c
})",
     {"conv Conv"}},
    {"Separable",
     R"(graph {
  input %x: float32[1,8,33,33]
  input %r: float32[1,12,17,17]
  const %w0: float32[8,1,3,3] = synthetic 1
  const %b0: float32[8] = synthetic 2
  const %w1: float32[12,8,1,1] = synthetic 3
  const %b1: float32[12] = synthetic 4
  %a = Relu(%x) {}
  %c = Conv(%a, %w0, %b0) {group=8, pads=[1,1,1,1], strides=[2,2]}
  %d = Relu(%c) {}
  %e = Conv(%d, %w1, %b1) {}
  %f = Add(%e, %r) {}
  output %f
})",
     {"separable Relu+Conv+Relu+Conv+Add", "separable Conv+Relu+Conv+Add", "conv Conv+Add"}},
    {"Products",
     R"(graph {
  input %x: float32[2,3,5]
  input %r: float32[2,3,7]
  const %w: float32[5,7] = synthetic 1
  const %b: float32[7] = synthetic 2
  %c = MatMul(%x, %w) {}
  %d = Add(%c, %b) {}
  %e = Add(%d, %r) {}
  %f = Gelu(%e) {approximate="tanh"}
  output %f
})",
     {"matmul MatMul", "matmul MatMul+Add", "matmul MatMul+Add+Add+Gelu"}},
    {"GemmTransposed",
     R"(graph {
  input %x: float32[5,3]
  const %w: float32[7,5] = synthetic 1
  const %b: float32[1,7] = synthetic 2
  %c = Gemm(%x, %w, %b) {transA=1, transB=1}
  %d = Tanh(%c) {}
  output %d
})",
     {"matmul Gemm", "matmul Gemm+Tanh"}},
    {"ProductsOfActivations",
     R"(graph {
  input %x: float32[2,4,3,5]
  input %y: float32[2,4,5,6]
  %c = MatMul(%x, %y) {}
  output %c
})",
     {"matmul MatMul"}},
    {"Pools",
     R"(graph {
  input %x: float32[1,6,7,9]
  %a = MaxPool(%x) {kernel_shape=[3,3], pads=[1,1,1,1], strides=[2,2]}
  %b = AveragePool(%a) {kernel_shape=[2,2], pads=[1,1,1,1], count_include_pad=1}
  %c = AveragePool(%b) {kernel_shape=[3,3], pads=[1,1,1,1], ceil_mode=1, strides=[2,2]}
  %d = GlobalAveragePool(%c) {}
  output %d
})",
     {"pool MaxPool", "pool AveragePool", "pool GlobalAveragePool"}},
    {"Rows",
     R"(graph {
  input %x: float32[2,3,10]
  input %r: float32[2,3,10]
  const %s: float32[10] = synthetic 1
  const %t: float32[10] = synthetic 2
  const %axes: int64[1] = [-1]
  %a = Add(%x, %r) {}
  %b = LayerNormalization(%a, %s, %t) {axis=-1, epsilon=0.001}
  %c = LayerNormalization(%b, %s) {axis=-1}
  %d = Softmax(%c) {axis=-1}
  %e = LogSoftmax(%d) {axis=2}
  %f = ReduceMean(%e, %axes) {keepdims=0}
  output %f
})",
     {"rows Add+LayerNormalization", "rows LayerNormalization", "rows Softmax", "rows LogSoftmax",
      "rows ReduceMean"}},
    {"MeanOfPixels",
     R"(graph {
  input %x: float32[2,6,3,4]
  const %axes: int64[2] = [2,3]
  %a = ReduceMean(%x, %axes) {keepdims=0}
  output %a
})",
     {"rows ReduceMean", "pool ReduceMean"}},
    {"ScaleAndShift",
     R"(graph {
  input %x: float32[2,6,3,4]
  const %s: float32[6,1,1] = synthetic 1
  const %t: float32[1,6,1,1] = synthetic 2
  %a = Mul(%x, %s) {}
  %b = Add(%a, %t) {}
  %c = Relu(%b) {}
  output %c
})",
     {"scale_shift Mul+Add+Relu", "elementwise Mul+Add+Relu", "elementwise Mul"}},
    {"NormalizationOfConstantStatistics",
     R"(graph {
  input %x: float32[2,3,3,4]
  const %s: float32[3] = synthetic 1
  const %t: float32[3] = synthetic 2
  const %m: float32[3] = synthetic 3
  const %v: float32[3] = [0.5,1,2]
  %a = BatchNormalization(%x, %s, %t, %m, %v) {epsilon=0.01}
  %b = Sigmoid(%a) {}
  output %b
})",
     {"scale_shift BatchNormalization", "scale_shift BatchNormalization+Sigmoid",
      "elementwise BatchNormalization+Sigmoid"}},
    {"Expressions",
     R"(graph {
  input %x: float32[2,3,4,5]
  input %y: float32[2,3,1,5]
  const %slope: float32[3,1,1] = synthetic 1
  const %image: float32[1,3,4,5] = synthetic 2
  const %half: float32[] = [0.5]
  const %one: float32[1] = [1]
  %a = Sub(%x, %y) {}
  %b = PRelu(%a, %slope) {}
  %c = HardSwish(%b) {}
  %d = LeakyRelu(%c) {alpha=0.25}
  %e = HardSigmoid(%d) {}
  %f = Max(%e, %image, %half) {}
  %g = Swish(%f) {alpha=1.5}
  %h = Clip(%g, %half) {}
  %i = Pow(%h, %one) {}
  %j = Reciprocal(%i) {}
  %k = Div(%j, %x) {}
  output %k
})",
     {"elementwise Sub+PRelu+HardSwish+LeakyRelu+HardSigmoid+Max+Swish+Clip+Pow+Reciprocal+Div"}},
    // The group of all three nodes would have two results.
    {"OneResult",
     R"(graph {
  input %x: float32[4,6]
  %a = Exp(%x) {}
  %b = Neg(%a) {}
  %c = Abs(%b) {}
  output %b, %c
})",
     {"elementwise Exp", "elementwise Exp+Neg", "elementwise Neg"}},
    {"Movements",
     R"(graph {
  input %x: float32[1,6,4,5]
  input %y: float32[1,2,4,5]
  const %pads: int64[8] = [0,0,1,2,0,0,3,0]
  const %starts: int64[1] = [1]
  const %ends: int64[1] = [-1]
  const %axes: int64[1] = [2]
  %a = Concat(%x, %y) {axis=1}
  %b = Pad(%a, %pads) {}
  %c = Slice(%b, %starts, %ends, %axes) {}
  %d, %e = Split(%c) {axis=1, num_outputs=2}
  %f = Transpose(%d) {perm=[0,2,3,1]}
  output %e, %f
})",
     {"move Concat", "move Pad", "move Slice", "move Split", "move Transpose"}},
    {"Cropped",
     R"(graph {
  input %x: float32[1,6,9,7]
  const %starts: int64[2] = [1,2]
  const %ends: int64[2] = [9,-1]
  const %axes: int64[2] = [2,3]
  %a = Slice(%x, %starts, %ends, %axes) {}
  output %a
})",
     {"move Slice"}},
    // NASNet's: a pool of single pixels behind a slice.
    {"CroppedInSteps",
     R"(graph {
  input %x: float32[1,6,9,7]
  const %starts: int64[2] = [1,2]
  const %ends: int64[2] = [9,-1]
  const %axes: int64[2] = [2,3]
  const %steps: int64[2] = [2,3]
  %a = Slice(%x, %starts, %ends, %axes, %steps) {}
  output %a
})",
     {"move Slice"}},
    {"Gathered",
     R"(graph {
  input %i: int64[2,3]
  const %table: float32[10,4] = synthetic 1
  %a = Gather(%table, %i) {axis=0}
  %b = Neg(%a) {}
  output %b
})",
     {"move Gather", "elementwise Neg"}},
    {"Expanded",
     R"(graph {
  input %x: float32[2,1,4,1]
  const %shape: int64[4] = [2,3,4,5]
  %a = Expand(%x, %shape) {}
  output %a
})",
     {"elementwise Expand"}},
    // BERT's: which keys hold a token, as what is added to the scores.
    {"MaskOfTokens",
     R"(graph {
  input %tokens: int64[2,5]
  input %x: float32[2,3,4,5]
  const %places: int64[1,5] = [0,1,2,-2,4]
  const %rows: bool[1,1,4,1] = [1,1,0,1]
  const %sizes: int64[4] = [2,1,1,5]
  const %shown: float32[] = [0]
  const %hidden: float32[] = [-100]
  %a = Cast(%tokens) {to=9}
  %b = Gather(%a, %places) {axis=1}
  %c = Reshape(%b, %sizes) {}
  %d = And(%rows, %c) {}
  %e = Where(%d, %shown, %hidden) {}
  %f = Add(%x, %e) {}
  output %f
})",
     {"elementwise Cast", "move Gather", "view Reshape", "elementwise And+Where",
      "elementwise Where", "elementwise Add"}},
    {"Comparisons",
     R"(graph {
  input %x: int64[3,7]
  input %y: int64[7]
  input %z: int32[3,1]
  input %f: float32[3,7]
  const %one: int64[] = [1]
  const %half: float32[] = [0.5]
  %a = Add(%x, %one) {}
  %b = Equal(%a, %y) {}
  %c = Greater(%f, %half) {}
  %d = Cast(%z) {to=7}
  %e = LessOrEqual(%x, %d) {}
  %g = Or(%b, %c) {}
  %h = Xor(%g, %e) {}
  %i = Not(%h) {}
  %j = Cast(%i) {to=1}
  %k = Mul(%j, %f) {}
  output %k
})",
     {"elementwise Add", "elementwise Add+Equal+Or+Xor+Not+Cast+Mul", "elementwise Cast",
      "elementwise LessOrEqual+Xor+Not+Cast+Mul"}},
    {"MovementsOfOthers",
     R"(graph {
  input %x: bool[1,6,4,5]
  input %y: bool[1,2,4,5]
  input %i: int64[2,3]
  const %pads: int64[8] = [0,0,1,2,0,0,3,0]
  const %sizes: int64[3] = [4,2,3]
  %a = Concat(%x, %y) {axis=1}
  %b = Pad(%a, %pads) {}
  %d, %e = Split(%b) {axis=1, num_outputs=2}
  %f = Transpose(%d) {perm=[0,2,3,1]}
  %g = Expand(%i, %sizes) {}
  %h = Transpose(%g) {perm=[2,0,1]}
  output %e, %f, %h
})",
     {"move Concat", "move Pad", "move Split", "move Transpose", "elementwise Expand"}},
    {"ShuffledChannels",
     R"(graph {
  input %x: float32[1,6,4,5]
  const %in: int64[5] = [1,2,3,4,5]
  const %out: int64[4] = [1,6,4,5]
  %a = Reshape(%x, %in) {}
  %b = Transpose(%a) {perm=[0,2,1,3,4]}
  %c = Reshape(%b, %out) {}
  output %c
})",
     {"view Reshape", "move Transpose", "move Reshape+Transpose+Reshape"}},
};

std::string NameOf(const Graph& graph, const Kernel& kernel) {
  return absl::StrCat(kernel.family, " ",
                      absl::StrJoin(kernel.nodes, "+", [&](std::string* out, NodeId node) {
                        absl::StrAppend(out, OpKindName(graph.node(node).op));
                      }));
}

class ProblemOfKernelTest : public testing::TestWithParam<OfferCase> {};

// In its graph and in one of its own, in every row of formats.
TEST_P(ProblemOfKernelTest, WhatIsOfferedIsWhatItsNodesSay) {
  const absl::StatusOr<Graph> graph = ParseTypedGraph(GetParam().graph);
  ASSERT_TRUE(graph.ok()) << graph.status();
  const CudaCatalog catalog({.tf32 = true});
  std::set<std::string> offered;
  for (NodeId node = 0; node < graph->node_count(); ++node) {
    for (const Kernel& kernel : catalog.KernelsAt(*graph, node, true)) {
      offered.insert(NameOf(*graph, kernel));
      SCOPED_TRACE(NameOf(*graph, kernel));
      if (kernel.family == kViewFamily) continue;
      EXPECT_NE(kernel.family, "other");
      const absl::StatusOr<ProblemCheck> check =
          CheckKernelProblemIn(*graph, kernel, 7, 1000000000);
      ASSERT_TRUE(check.ok()) << check.status();
      EXPECT_LE(check->relative_l2, 1e-5);
    }
  }
  for (const std::string& name : GetParam().offered) {
    EXPECT_TRUE(offered.contains(name)) << name << " is not among\n"
                                        << absl::StrJoin(offered, "\n");
  }
}

INSTANTIATE_TEST_SUITE_P(Graphs, ProblemOfKernelTest, testing::ValuesIn(kCases),
                         [](const auto& info) { return std::string(info.param.name); });

// The first case: a convolution of two groups with all that may follow.
class ForeignKernelTest : public testing::Test {
 protected:
  ForeignKernelTest() : graph_(*ParseTypedGraph(kCases[0].graph)) {}

  Kernel Fused() const {
    return {.family = "conv",
            .variant = "strict/auto",
            .nodes = {0, 1, 2},
            .input_formats = {Format::kPlain, Format::kPlain},
            .output_formats = {Format::kPlain}};
  }

  const Graph graph_;
};

TEST_F(ForeignKernelTest, FieldsAndOperandsOfAProblem) {
  Kernel kernel = Fused();
  kernel.variant = "tf32/auto";
  kernel.input_formats = {Format::kChannelsLast, Format::kChannelsLast};
  kernel.output_formats = {Format::kChannelsLast};
  const std::optional<KernelProblem> problem = ProblemOfKernel(graph_, kernel);
  ASSERT_TRUE(problem.has_value());
  const ConvProblem& conv = std::get<ConvProblem>(problem->problem);
  EXPECT_EQ(std::vector<int64_t>({conv.n, conv.c, conv.h, conv.w, conv.k, conv.r, conv.s}),
            std::vector<int64_t>({2, 8, 7, 5, 16, 3, 3}));
  EXPECT_EQ(conv.groups, 2);
  EXPECT_TRUE(conv.bias && conv.residual && !conv.prologue_relu);
  EXPECT_EQ(conv.activation, Activation::kRelu);
  EXPECT_EQ(problem->precision, Precision::kTf32);
  EXPECT_EQ(problem->layout, MemoryLayout::kNhwc);
  EXPECT_EQ(problem->weights.format, Format::kChannelsLast);
  EXPECT_EQ(problem->bias.constant, graph_.tensor(graph_.node(0).inputs[2]).constant);
  EXPECT_EQ(problem->residual.tensor, graph_.node(1).inputs[0]);
  EXPECT_EQ(problem->outputs, std::vector<TensorId>({graph_.node(2).outputs[0]}));
}

TEST_F(ForeignKernelTest, KernelsThatNoCatalogOffersHaveNone) {
  ASSERT_TRUE(ProblemOfKernel(graph_, Fused()).has_value());
  std::vector<Kernel> wrong(11, Fused());
  wrong[0].family = "matmul";
  wrong[1].family = "no family";
  wrong[2].variant = "bf16/auto";
  wrong[3].nodes = {0, 2, 1};
  wrong[4].nodes = {0, 1, 3};
  wrong[5].nodes = {-1, 0, 1};
  wrong[6].nodes = {};
  wrong[7].nodes = {0, 2};
  wrong[8].input_formats = {Format::kPlain};
  wrong[9].input_formats = {Format::kChannelsLast, Format::kPlain};
  wrong[10].output_formats = {Format::kChannelsLast};
  for (size_t i = 0; i < wrong.size(); ++i) {
    EXPECT_FALSE(ProblemOfKernel(graph_, wrong[i]).has_value()) << i;
  }
}

// All of such a kernel lies in 16 bits, its constants, too.
TEST_F(ForeignKernelTest, KernelsOf16BitsReadAndWriteNothingElse) {
  const Kernel fused = CudaCatalog({.fp16 = true}).KernelsAt(graph_, 0, true).back();
  ASSERT_EQ(fused.variant, "fp16/auto");
  const std::optional<KernelProblem> problem = ProblemOfKernel(graph_, fused);
  ASSERT_TRUE(problem.has_value());
  EXPECT_EQ(problem->precision, Precision::kFp16);
  for (const OperandValue* operand : {&problem->inputs[0], &problem->weights, &problem->residual}) {
    if (!operand->present()) continue;
    EXPECT_TRUE(operand->format == Format::kF16 || operand->format == Format::kF16ChannelsLast);
  }
  std::vector<Kernel> wrong(5, fused);
  wrong[0].variant = "strict/auto";
  wrong[1].variant = "tf32/auto";
  wrong[2].variant = "bf16/auto";
  wrong[3].input_formats[0] = StoredAs(DataType::kFloat32, fused.input_formats[0]);
  wrong[4].output_formats[0] = StoredAs(DataType::kBfloat16, fused.output_formats[0]);
  for (size_t i = 0; i < wrong.size(); ++i) {
    EXPECT_FALSE(ProblemOfKernel(graph_, wrong[i]).has_value()) << i;
  }
}

TEST(ProblemOfReorderTest, CastsOnTheWay) {
  const TensorType type{DataType::kFloat32, {2, 3, 4, 5}};
  const auto problem_of = [&](Format from, Format to) {
    return ProblemOfReorder(type,
                            {.family = "reorder", .input_formats = {from}, .output_formats = {to}});
  };
  const auto in_a_row = problem_of(Format::kPlain, Format::kBf16);
  ASSERT_TRUE(in_a_row.has_value());
  EXPECT_EQ(in_a_row->precision, Precision::kBf16);
  const MovementProblem& row = std::get<MovementProblem>(in_a_row->problem);
  EXPECT_EQ(row.inputs[0], std::vector<int64_t>({120}));
  EXPECT_EQ(row.type, ElementType::kFloat32);
  EXPECT_EQ(row.cast_to, ElementType::kFloat);
  const auto widened = problem_of(Format::kF16ChannelsLast, Format::kPlain);
  ASSERT_TRUE(widened.has_value());
  const MovementProblem& across = std::get<MovementProblem>(widened->problem);
  EXPECT_EQ(across.inputs[0], std::vector<int64_t>({2, 20, 3}));
  EXPECT_EQ(across.type, ElementType::kFloat);
  EXPECT_EQ(across.cast_to, ElementType::kFloat32);
  const auto moved = problem_of(Format::kF16, Format::kF16ChannelsLast);
  ASSERT_TRUE(moved.has_value());
  EXPECT_EQ(moved->precision, Precision::kFp16);
  EXPECT_EQ(std::get<MovementProblem>(moved->problem).cast_to, std::nullopt);
  EXPECT_FALSE(problem_of(Format::kF16, Format::kBf16).has_value());
}

TEST(ProblemOfReorderTest, IsATransposeOfPixelsAndChannels) {
  const TensorType type{DataType::kFloat32, {2, 3, 4, 5}};
  const Kernel to_last = {.family = "reorder",
                          .input_formats = {Format::kPlain},
                          .output_formats = {Format::kChannelsLast}};
  const std::optional<KernelProblem> problem = ProblemOfReorder(type, to_last);
  ASSERT_TRUE(problem.has_value());
  const MovementProblem& move = std::get<MovementProblem>(problem->problem);
  EXPECT_EQ(move.inputs[0], std::vector<int64_t>({2, 3, 20}));
  EXPECT_EQ(move.permutation, std::vector<int64_t>({0, 2, 1}));
  EXPECT_EQ(move.type, ElementType::kFloat);
  const auto masks = ProblemOfReorder({DataType::kBool, {2, 3, 4, 5}}, to_last);
  ASSERT_TRUE(masks.has_value());
  EXPECT_EQ(std::get<MovementProblem>(masks->problem).type, ElementType::kBool);
  const auto halves = ProblemOfReorder({DataType::kFloat16, {2, 3, 4, 5}}, to_last);
  ASSERT_TRUE(halves.has_value());
  EXPECT_EQ(std::get<MovementProblem>(halves->problem).type, ElementType::kInt16);
  EXPECT_FALSE(ProblemOfReorder({DataType::kComplex128, {2, 3, 4, 5}}, to_last).has_value());
}

}  // namespace
}  // namespace plait::cuda
