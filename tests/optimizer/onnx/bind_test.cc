#include "optimizer/onnx/bind.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/limits.h"
#include "optimizer/ir/text.h"
#include "optimizer/onnx/import.h"
#include "optimizer/ops/shared/op_spec.h"
#include "tests/optimizer/onnx/model_text.h"

namespace plait {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

absl::StatusOr<Bound> BindBytes(const std::string& bytes, const Bindings& shapes = {}) {
  const absl::StatusOr<Model> model = ImportOnnx(bytes);
  if (!model.ok()) return model.status();
  return Bind(*model, shapes);
}

std::string Printed(const std::string& bytes, const Bindings& shapes = {}) {
  const absl::StatusOr<Bound> bound = BindBytes(bytes, shapes);
  return bound.ok() ? PrintGraph(bound->graph) : std::string(bound.status().ToString());
}

void ExpectInvalidBinding(const absl::StatusOr<Bound>& bound, const std::string& what) {
  ASSERT_FALSE(bound.ok());
  EXPECT_EQ(bound.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(bound.status().message()), HasSubstr(what));
}

TEST(BindTest, MakesOneNodePerOnnxNode) {
  EXPECT_EQ(Printed(GraphBytes(13, R"(g (float[1,3,8,8] x, float[4,3,3,3] w) => (float[1,4,8,8] y) {
      c = Conv <pads = [1,1,1,1]> (x, w)
      y = Relu(c)
    })")),
            R"(graph {
  input %x: float32[1,3,8,8]
  input %w: float32[4,3,3,3]
  %c: float32[1,4,8,8] = Conv(%x, %w) {pads=[1,1,1,1]}
  %y: float32[1,4,8,8] = Relu(%c) {}
  output %y
}
)");
}

TEST(BindTest, OrdersNodesThatAreListedInAnyOrder) {
  const std::string graph =
      "g (float[2] x) => (float[2] y) { a = Relu(x) b = Abs(a) c = Neg(x) y = Add(b, c) }";
  const std::string in_order = Printed(GraphBytes(13, graph));
  EXPECT_THAT(in_order, HasSubstr("%y"));
  const absl::StatusOr<Bound> ordered = BindBytes(GraphBytes(13, graph));
  ASSERT_TRUE(ordered.ok()) << ordered.status();
  std::vector<int> order = {0, 1, 2, 3};
  do {
    const std::string shuffled = GraphBytes(13, graph, [&](auto* model) {
      const onnx::GraphProto original = model->graph();
      for (int i = 0; i < 4; ++i) {
        *model->mutable_graph()->mutable_node(i) = original.node(order[i]);
      }
    });
    const absl::StatusOr<Bound> bound = BindBytes(shuffled);
    ASSERT_TRUE(bound.ok()) << bound.status();
    EXPECT_EQ(bound->graph.fingerprint(), ordered->graph.fingerprint());
  } while (std::next_permutation(order.begin(), order.end()));
}

TEST(BindTest, RaisesOldFormsToTheNewestOpset) {
  EXPECT_EQ(Printed(GraphBytes(11, R"(g (float[2,3] x) => (float[3] y) {
      s = ReduceSum <axes = [0], keepdims = 1> (x)
      y = Squeeze <axes = [0]> (s)
    })")),
            R"(graph {
  input %x: float32[2,3]
  const %t0: int64[1] = [0]
  %s: float32[1,3] = ReduceSum(%x, %t0) {keepdims=1}
  %y: float32[3] = Squeeze(%s, %t0) {}
  output %y
}
)");
}

// Nobody reads the third part, which is one all the same.
TEST(BindTest, CountsPartsThatAreListedAndOmitted) {
  EXPECT_EQ(Printed(GraphBytes(
                13, R"(g (float[6] x) => (float[2] a, float[2] b) {
      a, b, c = Split <axis = 0> (x)
    })",
                [](auto* model) { model->mutable_graph()->mutable_node(0)->set_output(2, ""); })),
            R"(graph {
  input %x: float32[6]
  %a: float32[2], %b: float32[2] = Split(%x) {axis=0, num_outputs=3}
  output %a, %b
}
)");
}

TEST(BindTest, LeavesConstantsThatTakeLongToKernels) {
  const absl::StatusOr<Bound> bound = BindBytes(
      GraphBytes(13, R"(g (float[4] x) => (float[4] y) {
      s = Einsum <equation = "aabc,defg,hijk,lmno,pqrs->"> (c, c, c, c, c)
      y = Mul(x, s)
    })",
                 [](auto* model) {
                   *model->mutable_graph()->add_initializer() = FloatTensor("c", {4, 4, 4, 4});
                 }));
  ASSERT_TRUE(bound.ok()) << bound.status();
  EXPECT_EQ(bound->graph.node_count(), 2);
}

// The graph's lines between its inputs and its output.
std::string BoundEinsum(const std::string& equation, const std::string& inputs,
                        const std::string& names) {
  const std::string text =
      Printed(GraphBytes(13,
                         absl::StrCat("g (", inputs, ") => (y) { y = Einsum <equation = \"",
                                      equation, "\"> (", names, ") }"),
                         [](auto* model) {
                           *model->mutable_graph()->add_initializer() = FloatTensor("w", {5, 3, 4});
                         }));
  std::string lines;
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    if (absl::StartsWith(line, "  %")) absl::StrAppend(&lines, line.substr(2), "\n");
  }
  return lines;
}

TEST(BindTest, WritesAnEinsumAsProducts) {
  EXPECT_EQ(BoundEinsum("bhid,bhjd->bhij", "float[2,3,4,5] q, float[2,3,6,5] k", "q, k"),
            R"(%t0: float32[2,3,5,6] = Transpose(%k) {perm=[0,1,3,2]}
%y: float32[2,3,4,6] = MatMul(%q, %t0) {}
)");
  EXPECT_EQ(BoundEinsum("hdc,bsc->bhsd", "float[2,6,4] x", "w, x"),
            R"(%t0: float32[4,5,3] = Transpose(%w) {perm=[2,0,1]}
%t2: float32[4,15] = Reshape(%t0, %t1) {allowzero=1}
%t3: float32[2,6,15] = MatMul(%x, %t2) {}
%t5: float32[2,6,5,3] = Reshape(%t3, %t4) {allowzero=1}
%y: float32[2,5,6,3] = Transpose(%t5) {perm=[0,2,1,3]}
)") << "the constant is the right matrix";
  EXPECT_EQ(BoundEinsum("ij,jk->ik", "float16[2,3] a, float16[3,4] b", "a, b"),
            R"(%t0: float32[2,3] = Cast(%a) {to=1}
%t1: float32[3,4] = Cast(%b) {to=1}
%t2: float32[2,4] = MatMul(%t0, %t1) {}
%y: float16[2,4] = Cast(%t2) {to=10}
)") << "the result is rounded once";
}

// Diagonals, axes that are repeated, empty tensors, narrow integers, and products on the way that
// are larger than operands and result.
TEST(BindTest, LeavesAnEinsumThatIsNoRowOfProducts) {
  const std::tuple<std::string, std::string, std::string> rows[] = {
      {"ii,i->i", "float[3,3] a, float[3] b", "a, b"},
      {"ij,jk->ik", "float[2,1] a, float[3,4] b", "a, b"},
      {"ij,jk->ik", "float[2,0] a, float[0,4] b", "a, b"},
      {"ij,jk->ik", "int8[2,3] a, int8[3,4] b", "a, b"},
      {"i,j,i,j->", "float[2000] a, float[2000] b", "a, b, a, b"},
  };
  for (const auto& [equation, inputs, names] : rows) {
    EXPECT_THAT(BoundEinsum(equation, inputs, names), testing::StartsWith("%y: "));
    EXPECT_THAT(BoundEinsum(equation, inputs, names), HasSubstr(" = Einsum("));
  }
}

TEST(BindTest, FoldsTheArithmeticOfShapes) {
  const std::string bytes = GraphBytes(13, R"(g (float[batch,2,8] x) => (float[batch,16] y) {
      shape = Shape(x)
      zero = Constant <value_int = 0> ()
      batch_size = Gather(shape, zero)
      axes = Constant <value_ints = [0]> ()
      first = Unsqueeze(batch_size, axes)
      rest = Constant <value_ints = [-1]> ()
      target = Concat <axis = 0> (first, rest)
      y = Reshape(x, target)
    })");
  EXPECT_EQ(Printed(bytes, {{"x", {5, 2, 8}}}), R"(graph {
  input %x: float32[5,2,8]
  const %target: int64[2] = [5,-1]
  %y: float32[5,16] = Reshape(%x, %target) {}
  output %y
}
)");
}

TEST(BindTest, MakesExpressionsOfNodesOverWeights) {
  const std::string bytes =
      GraphBytes(13, R"(g (float[2,30] x) => (float[2,10] y) {
      t = Transpose <perm = [1,0]> (w)
      y = MatMul(x, t)
    })",
                 [](auto* model) {
                   *model->mutable_graph()->add_initializer() = FloatTensor("w", {10, 30});
                 });
  const std::string printed = Printed(bytes);
  EXPECT_THAT(printed, HasSubstr("const %c0: float32[10,30] = weight "));
  EXPECT_THAT(printed, HasSubstr("const %t: float32[30,10] = Transpose(%c0) {perm=[1,0]}"));
}

TEST(BindTest, SharesAWeightThroughIdentity) {
  const std::string bytes = GraphBytes(
      13, "g (float[300] x) => (float[300] y) { v = Identity(w) a = Add(x, w) y = Mul(a, v) }",
      [](auto* model) { *model->mutable_graph()->add_initializer() = FloatTensor("w", {300}); });
  const absl::StatusOr<Bound> bound = BindBytes(bytes);
  ASSERT_TRUE(bound.ok()) << bound.status();
  EXPECT_EQ(bound->graph.node(0).inputs[1], bound->graph.node(1).inputs[1]);
}

TEST(BindTest, ReadsEveryFormOfConstantNode) {
  const absl::StatusOr<Bound> bound = BindBytes(GraphBytes(13, R"(g (float[2] x) => (float[2] y) {
      a = Constant <value_float = 2.5> ()
      b = Constant <value_floats = [1.0, 2.0]> ()
      c = Constant <value = float[2] {3.0, 4.0}> ()
      p = Add(x, a)
      q = Add(p, b)
      y = Add(q, c)
    })"));
  ASSERT_TRUE(bound.ok()) << bound.status();
  ASSERT_EQ(bound->graph.node_count(), 3);
  const auto values = [&](NodeId node) {
    return bound->graph.inline_constant(node, 1)->AsDoubles();
  };
  EXPECT_THAT(values(0), ElementsAre(2.5));
  EXPECT_THAT(values(1), ElementsAre(1.0, 2.0));
  EXPECT_THAT(values(2), ElementsAre(3.0, 4.0));
}

TEST(BindTest, NamesTheDimensionThatNoBindingGives) {
  const std::string bytes = GraphBytes(
      13, "g (float[batch,3] x, float[batch,3] z) => (float[batch,3] y) { y = Add(x, z) }");
  ExpectInvalidBinding(
      BindBytes(bytes),
      "input 'x': dimension 0 ('batch') is not known (give it with --shape x=1x3)");
  const absl::StatusOr<Bound> bound = BindBytes(bytes, {{"x", {4, 3}}});
  ASSERT_TRUE(bound.ok()) << bound.status();
  EXPECT_EQ(bound->graph.type(bound->graph.inputs()[1]).ToString(), "float32[4,3]");
  ExpectInvalidBinding(BindBytes(bytes, {{"x", {4, 3}}, {"z", {5, 3}}}), "('batch') is given as 5");
  ExpectInvalidBinding(BindBytes(bytes, {{"x", {4, 2}}}), "dimension 1 is 3 in the model");
  ExpectInvalidBinding(BindBytes(bytes, {{"x", {4}}}), "has rank 1");
  ExpectInvalidBinding(BindBytes(bytes, {{"x", {-4, 3}}}), "negative dimension");
  ExpectInvalidBinding(BindBytes(bytes, {{"q", {4, 3}}}),
                       "'q', which is no input; inputs are 'x', 'z'");
}

TEST(BindTest, KeepsOperatorsThatItDoesNotKnow) {
  const absl::StatusOr<Bound> bound = BindBytes(BytesFromText(
      R"(<ir_version: 8, opset_import: ["" : 13, "com.example" : 1]>
    g (float[2] x) => (float[2] y) {
      a = Relu(x)
      b = com.example.Strange <depth = 3> (a)
      c = Abs(b)
      y = Bernoulli(c)
    })"));
  ASSERT_TRUE(bound.ok()) << bound.status();
  ASSERT_EQ(bound->opaque_nodes.size(), 3u);
  EXPECT_EQ(bound->opaque_nodes[0].op_type, "Strange");
  EXPECT_EQ(bound->opaque_nodes[0].reason, "operator of domain 'com.example'");
  EXPECT_EQ(bound->opaque_nodes[1].reason, "the type of its input 'b' is not known");
  EXPECT_EQ(bound->opaque_nodes[2].reason, "unknown operator");
  EXPECT_EQ(bound->graph.node(0).op, OpKind::kRelu);
  EXPECT_EQ(bound->graph.node(1).op, OpKind::kOpaque);
}

// The rest of the model is optimized.
TEST(BindTest, KeepsTypesThatItCannotCompute) {
  const absl::StatusOr<Bound> bound = BindBytes(BytesFromText(
      R"(<ir_version: 10, opset_import: ["" : 23]>
    g (uint8[1,1,4,4] x, float[1,2,2,2] grid, float[1,2,4,8] q, float16[1,2,4,8] v)
        => (uint8[1,1,2,2] a, float[1,2,4,8] b) {
      a = GridSample <mode = "nearest"> (x, grid)
      b = Attention (q, q, v)
    })"));
  ASSERT_TRUE(bound.ok()) << bound.status();
  ASSERT_EQ(bound->opaque_nodes.size(), 2u);
  EXPECT_EQ(bound->opaque_nodes[0].op_type, "GridSample");
  EXPECT_EQ(bound->opaque_nodes[1].op_type, "Attention");
}

TEST(BindTest, TrustsDeclaredTypesOfOpaqueResults) {
  const absl::StatusOr<Bound> bound = BindBytes(BytesFromText(
      R"(<ir_version: 8, opset_import: ["" : 13, "com.example" : 1]>
    g (float[2] x) => (float[2] y) <float[2] b> {
      b = com.example.Strange(x)
      y = Abs(b)
    })"));
  ASSERT_TRUE(bound.ok()) << bound.status();
  EXPECT_EQ(bound->opaque_nodes.size(), 1u);
  EXPECT_EQ(bound->graph.node(1).op, OpKind::kAbs);
}

constexpr char kIf[] = R"(g (bool cond, float[2] x) => (float[2] y) {
      outer = Relu(x)
      y = If (cond) <
        then_branch = t () => (float[2] r) { r = Abs(outer) },
        else_branch = e () => (float[2] s) { s = Neg(x) }
      >
    })";

TEST(BindTest, GivesOpaqueNodesTheOuterValuesOfTheirSubgraphs) {
  const absl::StatusOr<Bound> bound = BindBytes(GraphBytes(13, kIf));
  ASSERT_TRUE(bound.ok()) << bound.status();
  ASSERT_EQ(bound->graph.node_count(), 2);
  const Node& node = bound->graph.node(1);
  EXPECT_EQ(node.op, OpKind::kOpaque);
  std::vector<std::string> read;
  for (const TensorId input : node.inputs) read.push_back(*bound->graph.tensor(input).name);
  EXPECT_THAT(read, ElementsAre("cond", "outer", "x"));
}

TEST(BindTest, RefusesWhatNoRuntimeCouldRunAndNamesTheNode) {
  ExpectInvalidBinding(
      BindBytes(GraphBytes(13, R"(g (float[2,3] x, float[4,5] z) => (float[2,5] y) {
      y = MatMul(x, z)
    })")),
      "MatMul of 'y': ");
  ExpectInvalidBinding(
      BindBytes(GraphBytes(13,
                           "g (float[1,3,8,8] x, float[4,3,3,3] w) => (float[1,4,8,8] y) "
                           "{ y = Conv <strides = [0,1]> (x, w) }")),
      "Conv of 'y': ");
}

TEST(BindTest, RefusesAValueOfAnotherElementTypeThanDeclared) {
  ExpectInvalidBinding(BindBytes(GraphBytes(13, "g (float[2] x) => (int64[2] y) { y = Relu(x) }")),
                       "Relu of 'y': its output 'y' is declared as int64, but is float32");
  ExpectInvalidBinding(BindBytes(GraphBytes(13, R"(g (float[2] x) => (float[N] y) <int32[2] r> {
      r = Relu(x)
      y = Neg(r)
    })")),
                       "Relu of 'r': its output 'r' is declared as int32, but is float32");
}

TEST(BindTest, WarnsOfAnOutputThatIsDeclaredWrongly) {
  const absl::StatusOr<Bound> bound =
      BindBytes(GraphBytes(13, "g (float[2] x) => (float[3] y) { y = Relu(x) }"));
  ASSERT_TRUE(bound.ok()) << bound.status();
  EXPECT_THAT(bound->warnings, ElementsAre(HasSubstr("output 'y' is declared as float32[3]")));
}

// What all exporters write of a quantized network, to bytes and back around each operator.
TEST(BindTest, ReadsQuantizedOperatorsAsIntegers) {
  const std::string bytes = GraphBytes(13, R"(g (float[1,2,3,3] x) => (float[1,2,3,3] y) {
      q = QuantizeLinear(x, s, z)
      d = DequantizeLinear(q, s, z)
      f = DequantizeLinear(w, t)
      c = Conv(d, f)
      r = Relu(c)
      p = QuantizeLinear(r, s, z)
      y = DequantizeLinear(p, s, z)
    })",
                                       [](auto* model) {
                                         auto* const graph = model->mutable_graph();
                                         *graph->add_initializer() = FloatTensor("s", {}, 0.5f);
                                         *graph->add_initializer() = FloatTensor("t", {}, 0.25f);
                                         auto* const zero = graph->add_initializer();
                                         zero->set_name("z");
                                         zero->set_data_type(onnx::TensorProto::UINT8);
                                         zero->add_int32_data(0);
                                         auto* const weights = graph->add_initializer();
                                         weights->set_name("w");
                                         weights->set_data_type(onnx::TensorProto::INT8);
                                         for (const int dimension : {2, 2, 1, 1})
                                           weights->add_dims(dimension);
                                         for (const int value : {1, -2, 3, 100})
                                           weights->add_int32_data(value);
                                       });
  EXPECT_EQ(Printed(bytes), R"(graph {
  input %x: float32[1,2,3,3]
  const %s: float32[] = [0.5]
  const %z: uint8[] = [0]
  const %t0: int8[2,2,1,1] = [1,-2,3,100]
  const %t1: float32[] = [0.25]
  const %t2: int8[] = [0]
  %q: uint8[1,2,3,3] = QuantizeLinear(%x, %s, %z) {}
  %p: uint8[1,2,3,3] = QLinearConv(%q, %s, %z, %t0, %t1, %t2, %s, %z) {}
  %y: float32[1,2,3,3] = DequantizeLinear(%p, %s, %z) {}
  output %y
}
)");
}

TEST(BindTest, DoesNotComputeWhatSmallTensorsMakeExpensive) {
  // The pooling window of the padding has 10^12 elements, though input and output have one.
  const absl::StatusOr<Bound> bound = BindBytes(
      GraphBytes(13, R"(g (float[1,1,1,1] x) => (float[1,1,1,1] y) {
      p = AveragePool <kernel_shape = [1000001, 1000001],
                       pads = [500000, 500000, 500000, 500000]> (c)
      y = Add(x, p)
    })",
                 [](auto* model) {
                   *model->mutable_graph()->add_initializer() = FloatTensor("c", {1, 1, 1, 1});
                 }));
  if (bound.ok()) {
    EXPECT_EQ(bound->graph.inline_constant(0, 1), nullptr);
  }
}

TEST(BindTest, BindsEveryOpset) {
  for (int opset = kOpsetMin; opset <= kOpsetMax; ++opset) {
    const absl::StatusOr<Bound> bound = BindBytes(GraphBytes(
        opset,
        "g (float[2,3] x) => (float[2,3] y) { a = Relu(x) b = Softmax<axis=1>(a) y = Add(a, b) }"));
    ASSERT_TRUE(bound.ok()) << opset << ": " << bound.status();
    EXPECT_EQ(bound->graph.node_count(), 3);
    EXPECT_TRUE(bound->opaque_nodes.empty());
  }
}

}  // namespace
}  // namespace plait
