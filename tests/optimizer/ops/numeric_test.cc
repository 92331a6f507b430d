#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/optimizer/ops/op_testing.h"

// Values of the operators with arithmetic, against ONNX Runtime's (rounded) or worked out by hand.
namespace plait {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Small integers in an order that no mistake in indexing leaves unnoticed: -5, 2, -2, 5, 1, -3, ...
Tensor Mixed(Shape shape, double divisor = 1) {
  std::vector<double> values(static_cast<size_t>(ElementsOf(shape)));
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = (static_cast<double>(i * 7 % 11) - 5) / divisor;
  }
  return Tensor::FromDoubles({DataType::kFloat32, std::move(shape)}, values);
}

// 1, 2, 3, ...
Tensor Counting(Shape shape) {
  std::vector<double> values(static_cast<size_t>(ElementsOf(shape)));
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<double>(i + 1);
  return Tensor::FromDoubles({DataType::kFloat32, std::move(shape)}, values);
}

// All outputs of `node`, one after the other, over `inputs` that it calls %i0, %i1, ...
std::vector<double> Results(absl::string_view node, const std::vector<Tensor>& inputs,
                            absl::string_view constants = "") {
  std::string text = "graph {\n";
  for (size_t i = 0; i < inputs.size(); ++i) {
    absl::StrAppend(&text, "input %i", i, ": ", inputs[i].type().ToString(), "\n");
  }
  absl::StrAppend(&text, constants, node, "\noutput ", node.substr(0, node.find(" = ")), "\n}\n");
  const absl::StatusOr<Graph> graph = InferredGraph(text);
  EXPECT_TRUE(graph.ok()) << graph.status();
  if (!graph.ok()) return {};
  const absl::StatusOr<std::vector<Tensor>> outputs = EvaluateGraph(*graph, inputs, NoWeights());
  EXPECT_TRUE(outputs.ok()) << outputs.status();
  if (!outputs.ok()) return {};
  std::vector<double> values;
  for (const Tensor& output : *outputs) {
    const std::vector<double> part = output.AsDoubles();
    values.insert(values.end(), part.begin(), part.end());
  }
  return values;
}

MATCHER_P(NearAll, expected, "") {
  if (arg.size() != expected.size()) return false;
  for (size_t i = 0; i < arg.size(); ++i) {
    if (!(std::abs(arg[i] - expected[i]) <= 2e-6 * (1 + std::abs(expected[i])))) {
      *result_listener << "element " << i << " is " << arg[i] << ", not " << expected[i];
      return false;
    }
  }
  return true;
}

auto AreNear(std::vector<double> expected) { return NearAll(std::move(expected)); }

TEST(ConvTest, PadsStridesAndDilates) {
  EXPECT_THAT(Results("%y = Conv(%i0, %i1) {pads=[1,0,2,1], strides=[2,1], dilations=[1,2]}",
                      {Mixed({1, 2, 4, 5}), Mixed({2, 2, 3, 2})}),
              AreNear({-20, 26,  17, -26, 46, -44, 20,  63,  -5,  35, -24, -12,
                       -35, -15, 5,  23,  17, -35, -21, -18, -10, 6,  0,   0}));
}

TEST(ConvTest, GroupsAndAddsBias) {
  EXPECT_THAT(Results("%y = Conv(%i0, %i1, %i2) {group=2, strides=[2], pads=[1,0]}",
                      {Mixed({1, 4, 6}), Mixed({4, 2, 3}), Counting({4})}),
              AreNear({-9, -36, 13, -10, -21, 69, -27, -23, 53, -18, -26, 58}));
}

TEST(ConvTest, TilesOfAnySizeGiveTheSameAsTheDefinition) {
  // 13 output channels and 19 x 17 positions leave edges of every kind in the tiled product.
  const Tensor x = RandomTensor({DataType::kFloat64, {1, 3, 19, 17}}, 1);
  const Tensor w = RandomTensor({DataType::kFloat64, {13, 3, 1, 1}}, 2);
  const std::vector<double> y = Results("%y = Conv(%i0, %i1)", {x, w});
  ASSERT_EQ(y.size(), 13 * 19 * 17);
  for (int64_t m = 0; m < 13; ++m) {
    for (int64_t p = 0; p < 19 * 17; ++p) {
      double sum = 0;
      for (int64_t c = 0; c < 3; ++c)
        sum += x.at<double>(c * 19 * 17 + p) * w.at<double>(m * 3 + c);
      ASSERT_DOUBLE_EQ(y[m * 19 * 17 + p], sum) << m << " " << p;
    }
  }
}

TEST(AveragePoolTest, CountsNoPaddingByDefault) {
  EXPECT_THAT(
      Results(
          "%y = AveragePool(%i0) {kernel_shape=[3,4], strides=[2,3], pads=[1,0,1,0], ceil_mode=1}",
          {Mixed({1, 1, 5, 6})}),
      AreNear({0.375, 0, 0.58333333, -0.55555556, -0.125, -0.5}));
}

TEST(AveragePoolTest, CountsPaddingButNotWhatCeilModeReaches) {
  // The windows cover [pad -5 2], [2 -2 5] and [5 pad nothing].
  EXPECT_THAT(
      Results("%y = AveragePool(%i0) {kernel_shape=[3], strides=[2], pads=[1,1], ceil_mode=1, "
              "count_include_pad=1}",
              {Mixed({1, 1, 4})}),
      AreNear({-1, 5.0 / 3, 2.5}));
}

TEST(AveragePoolTest, Dilates) {
  EXPECT_THAT(Results("%y = AveragePool(%i0) {kernel_shape=[2], dilations=[3], pads=[1,1]}",
                      {Mixed({1, 1, 5})}),
              AreNear({-2, 0, 1.5, -2}));
}

TEST(MaxPoolTest, GivesTheIndexInTheWholeTensor) {
  EXPECT_THAT(
      Results("%y, %i = MaxPool(%i0) {kernel_shape=[2,2], strides=[1,2], pads=[0,1,1,0]}",
              {Mixed({1, 2, 3, 4})}),
      AreNear({1, 4, 1, 4, -4, 3, 2, 5, 3, 4, 3, -1, 4, 6, 4, 6, 8, 9, 12, 14, 20, 17, 20, 21}));
}

TEST(MaxPoolTest, CountsIndicesByColumnsOnRequest) {
  EXPECT_THAT(Results("%y, %i = MaxPool(%i0) {kernel_shape=[2,2], strides=[1,2], storage_order=1}",
                      {Mixed({1, 2, 3, 4})}),
              AreNear({2, 5, 3, 4, 4, 5, 4, 2, 3, 9, 5, 7, 16, 18, 16, 23}));
}

TEST(GlobalPoolTest, ReducesEachChannel) {
  const Tensor x = Floats({1, 2, 2, 2}, {1, 2, 3, 6, -1, -2, -3, -4});
  EXPECT_THAT(Results("%y = GlobalAveragePool(%i0)", {x}), ElementsAre(3, -2.5));
  EXPECT_THAT(Results("%y = GlobalMaxPool(%i0)", {x}), ElementsAre(6, -1));
}

TEST(NormalizationTest, LayerNormalizationMatchesOnnxRuntime) {
  EXPECT_THAT(Results("%y, %m, %s = LayerNormalization(%i0, %i1, %i2)",
                      {Mixed({2, 3}), Counting({3}), Counting({3})}),
              AreNear({-0.16247582, 4.5574465, 2.6512573, 2.2247443, 2, -0.67423296, -1.6666667, 1,
                       0.34874272, 0.30618608}));
}

TEST(NormalizationTest, InstanceNormalizationMatchesOnnxRuntime) {
  EXPECT_THAT(Results("%y = InstanceNormalization(%i0, %i1, %i2) {epsilon=0.5}",
                      {Mixed({1, 2, 4}), Counting({2}), Counting({2})}),
              AreNear({-0.2909944, 1.5163977, 0.48360223, 2.2909944, 2.3849, -0.69430125, 4.694301,
                       1.6150998}));
}

TEST(NormalizationTest, BatchNormalizationMatchesOnnxRuntime) {
  EXPECT_THAT(Results("%y = BatchNormalization(%i0, %i1, %i2, %i3, %i4) {epsilon=0.5}",
                      {Mixed({1, 2, 2}), Counting({2}), Counting({2}), Mixed({2}), Counting({2})}),
              AreNear({1, 6.715476, -3.0596442, 5.794733}));
}

TEST(SoftmaxTest, NormalizesOneAxis) {
  EXPECT_THAT(Results("%y = Softmax(%i0) {axis=0}", {Mixed({2, 3})}),
              AreNear({4.5397868e-05, 0.7310586, 0.7310586, 0.9999546, 0.26894143, 0.26894143}));
  EXPECT_THAT(Results("%y = LogSoftmax(%i0)", {Mixed({2, 3})}),
              AreNear({-7.019045, -0.01904499, -4.019045, -0.01847933, -4.0184793, -8.018479}));
}

TEST(SoftmaxTest, DoesNotOverflow) {
  EXPECT_THAT(Results("%y = Softmax(%i0)", {Floats({2}, {1000, 1000})}), ElementsAre(0.5, 0.5));
  EXPECT_THAT(Results("%y = LogSoftmax(%i0)", {Floats({2}, {-1000, 1000})}), ElementsAre(-2000, 0));
}

TEST(GeluTest, HasTwoForms) {
  const Tensor x = Floats({4}, {-2, -0.5, 0, 1});
  EXPECT_THAT(Results("%y = Gelu(%i0)", {x}), AreNear({-0.04550026, -0.15426877, 0, 0.8413447}));
  EXPECT_THAT(Results("%y = Gelu(%i0) {approximate=\"tanh\"}", {x}),
              AreNear({-0.04540231, -0.15428599, 0, 0.841192}));
}

TEST(AttentionTest, CausalMaskAndSharedKeyHeads) {
  EXPECT_THAT(Results("%y = Attention(%i0, %i1, %i2) {is_causal=1}",
                      {Mixed({1, 2, 2, 2}, 4), Mixed({1, 1, 3, 2}, 4), Mixed({1, 1, 3, 1})}),
              AreNear({-5, -0.8129755, -5, -0.5930793}));
}

TEST(AttentionTest, PackedHeadsScaleAndSoftcap) {
  EXPECT_THAT(Results("%y = Attention(%i0, %i1, %i2) {q_num_heads=2, kv_num_heads=2, scale=1.0, "
                      "softcap=2.0}",
                      {Mixed({1, 2, 4}, 4), Mixed({1, 3, 4}, 4), Mixed({1, 3, 2})}),
              AreNear({-2.1362271, 2.0742333, -2.0568383, 2.935666}));
}

TEST(AttentionTest, AQueryWithoutKeysGetsZeros) {
  EXPECT_THAT(Results("%y = Attention(%i0, %i0, %i0, %m)", {Counting({1, 1, 2, 1})},
                      "const %m: bool[2,2] = [0,0,0,1]\n"),
              ElementsAre(0, 2));
}

TEST(MatMulTest, BroadcastsBatchesAndVectors) {
  const Tensor b = Mixed({2, 3, 2});
  EXPECT_THAT(Results("%y = MatMul(%i0, %i1)", {Mixed({2, 1, 2, 3}), b}),
              ElementsAre(19, 6, -30, 24, -26, 16, 19, 18, -24, 20, -18, 16, 20, 20, 21, 22));
  EXPECT_THAT(Results("%y = MatMul(%i0, %i1)", {Mixed({3}), b}), ElementsAre(19, 6, -26, 16));
  EXPECT_THAT(Results("%y = MatMul(%i0, %i1)", {Counting({3}), Counting({3})}), ElementsAre(14));
}

TEST(MatMulTest, SumsOfNothingAreZero) {
  EXPECT_THAT(Results("%y = MatMul(%i0, %i1)", {Counting({2, 0}), Counting({0, 2})}),
              ElementsAre(0, 0, 0, 0));
}

TEST(MatMulTest, IntegersWrap) {
  const Tensor a = Tensor::Of<int32_t>({1, 1}, {1 << 30});
  const Tensor b = Tensor::Of<int32_t>({1, 1}, {4});
  EXPECT_THAT(Results("%y = MatMul(%i0, %i1)", {a, b}), ElementsAre(0));
}

TEST(GemmTest, TransposesScalesAndBroadcasts) {
  EXPECT_THAT(Results("%y = Gemm(%i0, %i1, %i2) {transA=1, transB=1, alpha=0.5, beta=2.0}",
                      {Mixed({3, 2}), Mixed({2, 3}), Counting({2, 1})}),
              ElementsAre(11.5, -13, 7, 16));
}

TEST(ReduceTest, EveryReductionOverTheLastAxis) {
  const Tensor x = Floats({2, 2}, {3, -1, 2, 4});
  const char axes[] = "const %axes: int64[1] = [-1]\n";
  EXPECT_THAT(Results("%y = ReduceSum(%i0, %axes)", {x}, axes), ElementsAre(2, 6));
  EXPECT_THAT(Results("%y = ReduceMean(%i0, %axes)", {x}, axes), ElementsAre(1, 3));
  EXPECT_THAT(Results("%y = ReduceMax(%i0, %axes)", {x}, axes), ElementsAre(3, 4));
  EXPECT_THAT(Results("%y = ReduceMin(%i0, %axes)", {x}, axes), ElementsAre(-1, 2));
  EXPECT_THAT(Results("%y = ReduceProd(%i0, %axes)", {x}, axes), ElementsAre(-3, 8));
}

TEST(ReduceTest, WithoutAxesEverythingOrNothing) {
  const Tensor x = Floats({2, 2}, {3, -1, 2, 4});
  EXPECT_THAT(Results("%y = ReduceSum(%i0)", {x}), ElementsAre(8));
  EXPECT_THAT(Results("%y = ReduceSum(%i0) {noop_with_empty_axes=1}", {x}),
              ElementsAre(3, -1, 2, 4));
}

TEST(ReduceTest, NothingReducesToTheNeutralElement) {
  const Tensor x = Floats({0}, {});
  EXPECT_THAT(Results("%y = ReduceSum(%i0)", {x}), ElementsAre(0));
  EXPECT_THAT(Results("%y = ReduceProd(%i0)", {x}), ElementsAre(1));
  EXPECT_THAT(Results("%y = ReduceMax(%i0)", {x}),
              ElementsAre(-std::numeric_limits<double>::infinity()));
}

struct WrongCall {
  const char* tensors;
  const char* node;
};

// Each must be refused as InvalidArgument, with the operator's name in the message.
constexpr WrongCall kWrongCalls[] = {
    {"input %x: float32[1,2,4]\ninput %w: float32[1,2,2]\n", "Conv(%x, %w) {strides=[0]}"},
    {"input %x: float32[1,2,4]\ninput %w: float32[1,2,2]\n", "Conv(%x, %w) {strides=[-1]}"},
    {"input %x: float32[1,2,4]\ninput %w: float32[1,2,2]\n", "Conv(%x, %w) {dilations=[0]}"},
    {"input %x: float32[1,2,4]\ninput %w: float32[1,2,2]\n", "Conv(%x, %w) {pads=[-1,0]}"},
    {"input %x: float32[1,2,4]\ninput %w: float32[1,2,2]\n", "Conv(%x, %w) {pads=[1]}"},
    {"input %x: float32[1,2,4]\ninput %w: float32[1,2,2]\n", "Conv(%x, %w) {group=0}"},
    {"input %x: float32[1,2,4]\ninput %w: float32[1,2,2]\n", "Conv(%x, %w) {group=-2}"},
    {"input %x: float32[1,2,4]\ninput %w: float32[1,2,2]\n", "Conv(%x, %w) {kernel_shape=[3]}"},
    {"input %x: float32[1,2,4]\ninput %w: float32[1,2,2]\n",
     "Conv(%x, %w) {pads=[9223372036854775807,9223372036854775807]}"},
    {"input %x: float32[1,2,4]\ninput %w: float32[1,2,5]\n", "Conv(%x, %w)"},
    {"input %x: float32[1,2,4]\ninput %w: float32[1,2,0]\n", "Conv(%x, %w)"},
    {"input %x: float32[1,3,4]\ninput %w: float32[1,2,2]\n", "Conv(%x, %w)"},
    {"input %x: float32[1,2,4]\ninput %w: float32[1,2]\n", "Conv(%x, %w)"},
    {"input %x: float32[1]\ninput %w: float32[1]\n", "Conv(%x, %w)"},
    {"input %x: float32[1,2,4]\ninput %w: float32[1,2,2]\n", "Conv(%x, %w, %w)"},
    {"input %x: int32[1,2,4]\ninput %w: int32[1,2,2]\n", "Conv(%x, %w)"},
    {"input %x: float32[1,2,4]\n", "MaxPool(%x)"},
    {"input %x: float32[1,2,4]\n", "MaxPool(%x) {kernel_shape=[0]}"},
    {"input %x: float32[1,2,4]\n", "MaxPool(%x) {kernel_shape=[2], pads=[2,0]}"},
    {"input %x: float32[1,2,4]\n", "MaxPool(%x) {kernel_shape=[2,2]}"},
    {"input %x: float32[1,2,4]\n", "AveragePool(%x) {kernel_shape=[5]}"},
    {"input %x: float32[1,2]\n", "AveragePool(%x) {kernel_shape=[]}"},
    {"input %x: float32[1,2]\n", "GlobalAveragePool(%x)"},
    {"input %x: float32[1,2,0]\n", "GlobalMaxPool(%x)"},
    {"input %x: float32[1,2]\ninput %s: float32[3]\n", "BatchNormalization(%x,%s,%s,%s,%s)"},
    {"input %x: float32[1,2]\ninput %s: float32[2]\n", "InstanceNormalization(%x, %s, %s)"},
    {"input %x: float32[2,3]\ninput %s: float32[2]\n", "LayerNormalization(%x, %s)"},
    {"input %x: float32[2,3]\ninput %s: float32[3]\n", "LayerNormalization(%x, %s) {axis=2}"},
    {"input %x: float32[]\n", "LayerNormalization(%x, %x)"},
    {"input %x: float32[2,3]\n", "Softmax(%x) {axis=2}"},
    {"input %x: float32[2,3]\n", "LogSoftmax(%x) {axis=-3}"},
    {"input %x: int32[2,3]\n", "Softmax(%x)"},
    {"input %x: float32[2]\n", "Gelu(%x) {approximate=\"erf\"}"},
    {"input %x: float32[2,3]\n", "MatMul(%x, %x)"},
    {"input %x: float32[]\n", "MatMul(%x, %x)"},
    {"input %x: float32[2,3,3]\ninput %w: float32[4,3,3]\n", "MatMul(%x, %w)"},
    {"input %x: float32[2,3]\ninput %w: float64[3,2]\n", "MatMul(%x, %w)"},
    {"input %x: float32[1099511627776,1]\ninput %w: float32[1,2]\n", "MatMul(%x, %w)"},
    {"input %x: float32[2,3]\n", "Gemm(%x, %x)"},
    {"input %x: float32[3,3]\ninput %c: float32[4]\n", "Gemm(%x, %x, %c)"},
    {"input %x: float32[1,3,3]\n", "Gemm(%x, %x)"},
    {"input %x: float32[2,3]\nconst %a: int64[1] = [2]\n", "ReduceSum(%x, %a)"},
    {"input %x: float32[2,3]\nconst %a: int64[2] = [0,-2]\n", "ReduceMax(%x, %a)"},
    {"input %x: float32[2,3]\nconst %a: int64[1,1] = [0]\n", "ReduceProd(%x, %a)"},
    {"input %x: int32[0]\n", "ReduceMean(%x)"},
    {"input %x: bool[2]\n", "ReduceSum(%x)"},
    {"input %x: float32[1,2,4]\n", "Attention(%x, %x, %x)"},
    {"input %x: float32[1,2,4]\n", "Attention(%x, %x, %x) {q_num_heads=3, kv_num_heads=3}"},
    {"input %x: float32[1,2,4]\n", "Attention(%x, %x, %x) {q_num_heads=1, kv_num_heads=2}"},
    {"input %x: float32[1,2,3,4]\ninput %v: float32[1,2,2,4]\n", "Attention(%x, %x, %v)"},
    {"input %x: float32[1,2,3,4]\ninput %m: float32[2,3]\n", "Attention(%x, %x, %x, %m)"},
};

TEST(HostileTest, WrongCallsAreInvalid) {
  for (const WrongCall& c : kWrongCalls) {
    const std::string text =
        absl::StrCat("graph {\n", c.tensors, "%y = ", c.node, "\noutput %y\n}\n");
    const absl::string_view node = c.node;
    const absl::Status status = InferredGraph(text).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << text << status;
    EXPECT_THAT(std::string(status.message()),
                HasSubstr(absl::StrCat(node.substr(0, node.find('(')), ":")))
        << text;
  }
}

}  // namespace
}  // namespace plait
