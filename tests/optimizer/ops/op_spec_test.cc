#include "optimizer/ops/shared/op_spec.h"

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace plait {
namespace {

using ::testing::HasSubstr;

TEST(InferTypesTest, ChecksArityAndNamesTheOperator) {
  const TensorType type = {DataType::kFloat32, {1}};
  const absl::Status none = InferTypes(OpKind::kAdd, {}, {}, {}, 1).status();
  EXPECT_TRUE(absl::IsInvalidArgument(none));
  EXPECT_THAT(std::string(none.message()), HasSubstr("Add: has 0 inputs, needs 2"));
  const absl::Status two = InferTypes(OpKind::kRelu, {}, {type}, {}, 2).status();
  EXPECT_TRUE(absl::IsInvalidArgument(two));
  EXPECT_THAT(std::string(two.message()), HasSubstr("Relu: has 2 outputs, needs 1"));
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
    {"input %x: bool[2]\n", "ReduceSum(%x)"},
    {"input %x: float32[1,2,4]\n", "Attention(%x, %x, %x)"},
    {"input %x: float32[1,2,4]\n", "Attention(%x, %x, %x) {q_num_heads=3, kv_num_heads=3}"},
    {"input %x: float32[1,2,4]\n", "Attention(%x, %x, %x) {q_num_heads=1, kv_num_heads=2}"},
    {"input %x: float32[1,2,3,4]\ninput %v: float32[1,2,2,4]\n", "Attention(%x, %x, %v)"},
    {"input %x: float32[1,2,3,4]\ninput %m: float32[2,3]\n", "Attention(%x, %x, %x, %m)"},
};

TEST(InferTypesTest, WrongCallsAreInvalid) {
  for (const WrongCall& c : kWrongCalls) {
    const std::string text =
        absl::StrCat("graph {\n", c.tensors, "%y = ", c.node, "\noutput %y\n}\n");
    const absl::string_view node = c.node;
    const absl::Status status = ParseTypedGraph(text).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << text << status;
    EXPECT_THAT(std::string(status.message()),
                HasSubstr(absl::StrCat(node.substr(0, node.find('(')), ":")))
        << text;
  }
}

// A list of their places would be 4 TiB long.
TEST(InferTypesTest, BoundsOfHugeSequencesAreUnimplemented) {
  const TensorType query = {DataType::kFloat32, {1, 1, 1, 1}};
  const TensorType keys = {DataType::kFloat32, {1, 1, int64_t{1} << 39, 1}};
  const auto status_of = [&](const Attributes& attributes) {
    const Tensor* const constants[] = {nullptr, nullptr, nullptr};
    return InferTypes(OpKind::kAttention, attributes, {query, keys, keys}, constants, 1).status();
  };
  EXPECT_TRUE(status_of({}).ok());
  EXPECT_TRUE(absl::IsUnimplemented(status_of({{"is_causal", int64_t{1}}})));
  EXPECT_TRUE(absl::IsUnimplemented(status_of({{"left_window_size", int64_t{2}}})));
}

TEST(ParseTypedGraphTest, InfersTypesThatAreLeftOutAndRefusesWrongOnes) {
  const absl::StatusOr<Graph> graph =
      ParseTypedGraph("graph {\ninput %x: float32[2,1]\n%y = Add(%x, %x)\noutput %y\n}\n");
  ASSERT_TRUE(graph.ok()) << graph.status();
  EXPECT_EQ(graph->output_type(0).ToString(), "float32[2,1]");
  const absl::Status wrong = ParseTypedGraph(
                                 "graph {\ninput %x: float32[2,1]\n%y: float32[1] = Add(%x, %x)\n"
                                 "output %y\n}\n")
                                 .status();
  EXPECT_TRUE(absl::IsInvalidArgument(wrong)) << wrong;
}

TEST(WorkTest, CountsAMultiplyAddAsTwo) {
  const absl::StatusOr<Graph> parsed = ParseTypedGraph(
      "graph {\ninput %x: float32[1,2,5,5]\ninput %w: float32[3,2,3,3]\ninput %b: float32[3]\n"
      "%y = Conv(%x, %w, %b)\n%z = Relu(%y)\noutput %z\n}\n");
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  const Graph& graph = *parsed;
  EXPECT_EQ(WorkOf(graph, 0).flops, 3 * 9 * (2 * 18 + 1));
  EXPECT_EQ(WorkOf(graph, 0).bytes, 4 * (50 + 54 + 3 + 27));
  EXPECT_EQ(WorkOf(graph, 1).flops, 27);
  EXPECT_EQ(WorkOf(graph, 1).bytes, 2 * 4 * 27);
}

}  // namespace
}  // namespace plait
