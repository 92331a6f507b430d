#include "optimizer/ir/text.h"

#include <bit>
#include <cmath>
#include <limits>

#include "base/random.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/optimizer/ir/graphs.h"

namespace plait {
namespace {

using testing::HasSubstr;

void ExpectRoundTrip(const Graph& graph) {
  const std::string text = PrintGraph(graph);
  const absl::StatusOr<Graph> parsed = ParseGraph(text);
  ASSERT_TRUE(parsed.ok()) << parsed.status() << "\n" << text;
  EXPECT_EQ(PrintGraph(*parsed), text);
  EXPECT_EQ(parsed->fingerprint(), graph.fingerprint()) << text;
}

// A graph of one Relu with these attributes.
Graph WithAttributes(Attributes attributes) {
  GraphBuilder builder;
  Node node;
  node.op = OpKind::kRelu;
  node.attributes = MakeAttributes(std::move(attributes));
  node.inputs = {builder.AddInput(kFloats, "x")};
  builder.AddOutput(builder.AddNode(node, {kFloats}, {"y"})[0]);
  return *std::move(builder).Finish();
}

Graph WithConstant(ConstantRef constant) {
  GraphBuilder builder;
  builder.AddOutput(builder.AddConstant(std::move(constant), "c"));
  return *std::move(builder).Finish();
}

TEST(TextTest, PrintsTheDocumentedForm) {
  constexpr char kText[] = R"(graph {
  input %x: float32[1,3,8,8]
  const %f: int8[9] = synthetic 7
  const %w: int8[9] = weight ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad/9
  const %folded: int8[9] = Mul(%w, %f) {}
  const %axes: int64[1] = [2]
  %y: float32[1,4,8,8] = Conv(%x, %folded, _) {pads=[1,1,1,1], strides=[1,1]} @conv1
  %a: float32[1,2,8,8], _, %b: float32[1,2,8,8] = Split(%y, _) {axis=1, num_outputs=2}
  %z: float32[1,3,8,8] = Add(%f, %f) {}
  %s: float32[1,2,8,1,8] = Unsqueeze(%a, %axes) {}
  output %a, %b, %z, %s
}
)";
  const Graph graph = GraphOf(kText);
  // Constants are printed in the order of their first use, behind what their expressions read.
  EXPECT_EQ(PrintGraph(graph), R"(graph {
  input %x: float32[1,3,8,8]
  const %c0: int8[9] = weight ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad/9
  const %f: int8[9] = synthetic 7
  const %folded: int8[9] = Mul(%c0, %f) {}
  const %axes: int64[1] = [2]
  %y: float32[1,4,8,8] = Conv(%x, %folded, _) {pads=[1,1,1,1], strides=[1,1]} @conv1
  %a: float32[1,2,8,8], _, %b: float32[1,2,8,8] = Split(%y, _) {axis=1, num_outputs=2}
  %z: float32[1,3,8,8] = Add(%f, %f) {}
  %s: float32[1,2,8,1,8] = Unsqueeze(%a, %axes) {}
  output %a, %b, %z, %s
}
)");
  ExpectRoundTrip(graph);
}

TEST(TextTest, AwkwardNamesRoundTrip) {
  const std::vector<std::string> names = {
      "_",   "a b",   "x:",    ":x",     "%",       "\"quoted\"", "back\\slash",   "new\nline",
      "nul", "é\xff", "a,b=c", "output", "graph {", "t0",         "x: float32[4]", "#no",
      " ",   "-1",    "0x10"};
  GraphBuilder builder;
  for (const std::string& name : names) {
    Node node;
    node.op = OpKind::kRelu;
    node.inputs = {builder.AddInput(kFloats, name)};
    node.name = std::make_shared<const std::string>(name);
    builder.AddOutput(builder.AddNode(node, {kFloats}, {name + "'"})[0]);
  }
  builder.AddInput(kFloats, absl::string_view("nul\0byte", 8));
  const Graph graph = *std::move(builder).Finish();
  ExpectRoundTrip(graph);
  const Graph parsed = *ParseGraph(PrintGraph(graph));
  for (TensorId id = 0; id < graph.tensor_count(); ++id) {
    EXPECT_EQ(*parsed.tensor(id).name, *graph.tensor(id).name);
  }
  for (NodeId id = 0; id < graph.node_count(); ++id) {
    EXPECT_EQ(*parsed.node(id).name, *graph.node(id).name);
  }
}

TEST(TextTest, AwkwardAttributesRoundTrip) {
  const float infinity = std::numeric_limits<float>::infinity();
  const float nan = std::bit_cast<float>(0x7FC12345);
  const Graph graph = WithAttributes({
      {"int_min", std::numeric_limits<int64_t>::min()},
      {"int_max", std::numeric_limits<int64_t>::max()},
      {"whole", 1.0f},
      {"negative_zero", -0.0f},
      {"tiny", std::numeric_limits<float>::denorm_min()},
      {"huge", std::numeric_limits<float>::max()},
      {"third", 1.0f / 3},
      {"nan", nan},
      {"infinity", -infinity},
      {"text", std::string("a\"b\\c\nd\0e\xff", 10)},
      {"no_text", ""},
      {"ints", std::vector<int64_t>{-1, 0, 1}},
      {"floats", std::vector<float>{1, 2.5f, infinity, nan}},
      {"strings", std::vector<std::string>{"", "]", "a, b"}},
      {"no_ints", std::vector<int64_t>{}},
      {"no_floats", std::vector<float>{}},
      {"no_strings", std::vector<std::string>{}},
      {"tensor", Tensor::Of<float>({1, 2}, {1, nan})},
      {"scalar", Tensor::ScalarInt64(-5)},
      {"opaque", OpaqueBytes{std::string("\0\1\2\xff", 4)}},
      {"odd name}", 1},
  });
  ExpectRoundTrip(graph);
  const AttributesRef parsed = ParseGraph(PrintGraph(graph))->node(0).attributes;
  EXPECT_EQ(parsed->fingerprint(), graph.node(0).attributes->fingerprint());
}

TEST(TextTest, RandomFloatsParseToTheSameBits) {
  Random random(20);
  for (int i = 0; i < 2000; ++i) {
    const float value = std::bit_cast<float>(static_cast<uint32_t>(random.Next()));
    const double wide = std::bit_cast<double>(random.Next());
    Attributes attributes = {{"value", value},
                             {"tensor", Tensor::Of<float>({}, {value})},
                             {"wide", Tensor::Of<double>({}, {wide})}};
    const Graph graph = WithAttributes(attributes);
    const absl::StatusOr<Graph> parsed = ParseGraph(PrintGraph(graph));
    ASSERT_TRUE(parsed.ok()) << parsed.status();
    ASSERT_EQ(parsed->fingerprint(), graph.fingerprint()) << PrintGraph(graph);
  }
}

TEST(TextTest, EveryHalfFloatPatternRoundTrips) {
  for (const DataType dtype : {DataType::kFloat16, DataType::kBfloat16}) {
    for (int start = 0; start < 65536; start += 32) {
      std::string bytes;
      for (int i = start; i < start + 32; ++i) {
        bytes.push_back(static_cast<char>(i & 0xFF));
        bytes.push_back(static_cast<char>(i >> 8));
      }
      const Graph graph = WithConstant(Constant::OfTensor(Tensor({dtype, {32}}, bytes)));
      ASSERT_THAT(PrintGraph(graph), Not(HasSubstr("raw")));
      const absl::StatusOr<Graph> parsed = ParseGraph(PrintGraph(graph));
      ASSERT_TRUE(parsed.ok()) << parsed.status();
      ASSERT_EQ(parsed->fingerprint(), graph.fingerprint()) << PrintGraph(graph);
    }
  }
}

TEST(TextTest, ConstantsOfEveryTypeRoundTrip) {
  for (int i = 1; i <= 16; ++i) {
    const DataType dtype = static_cast<DataType>(i);
    if (BytesOf(dtype) == 0) continue;
    for (const int64_t count : {0, 1, 2, 33}) {
      const TensorType type{dtype, {count}};
      const std::string bytes(static_cast<size_t>(type.bytes()), '\xC3');
      ExpectRoundTrip(WithConstant(Constant::OfTensor(Tensor(type, bytes))));
    }
  }
  ExpectRoundTrip(WithConstant(Constant::OfWeight({DataType::kString, {2}}, DigestOf("abc"))));
  ExpectRoundTrip(WithConstant(Constant::OfSynthetic(kFloats, ~uint64_t{0})));
}

TEST(TextTest, ExpressionsKeepOmittedInputsOutputIndexAndSharing) {
  const ConstantRef leaf = Constant::OfSynthetic(kFloats, 1);
  const ConstantRef split = std::make_shared<const Constant>(
      kFloats, Constant::Apply{OpKind::kSplit, MakeAttributes({{"axis", 0}}), {leaf, nullptr}, 3});
  const ConstantRef sum = std::make_shared<const Constant>(
      kFloats, Constant::Apply{OpKind::kAdd, NoAttributes(), {split, split}, 0});
  GraphBuilder builder;
  // A tensor that has the name that the printer would give the leaf.
  builder.AddInput(kFloats, "c0");
  builder.AddOutput(builder.AddConstant(sum, "sum"));
  const Graph graph = *std::move(builder).Finish();
  EXPECT_EQ(PrintGraph(graph), R"(graph {
  input %c0: float32[4]
  const %c2: float32[4] = synthetic 1
  const %c1: float32[4] = Split(%c2, _) {axis=0} output 3
  const %sum: float32[4] = Add(%c1, %c1) {}
  output %sum
}
)");
  ExpectRoundTrip(graph);
}

TEST(TextTest, EqualConstantsThatAreOutputsKeepTheirNames) {
  GraphBuilder builder;
  builder.AddOutput(builder.AddConstant(Constant::OfSynthetic(kFloats, 1), "a"));
  builder.AddOutput(builder.AddConstant(Constant::OfSynthetic(kFloats, 1), "b"));
  const Graph graph = *std::move(builder).Finish();
  ExpectRoundTrip(graph);
  EXPECT_THAT(PrintGraph(graph), HasSubstr("const %b: float32[4] = synthetic 1"));
}

TEST(TextTest, OpaqueNodesMayHaveUnknownTypes) {
  ExpectRoundTrip(
      GraphOf(AroundX(R"(  %y: undefined = Opaque(%x) {op_type="Foo", proto=opaque "AAE="}
  output %y
)")));
}

absl::StatusOr<std::vector<TensorType>> SameAsInput(OpKind op, const Attributes&,
                                                    absl::Span<const TensorType> inputs,
                                                    absl::Span<const Tensor* const>, int outputs) {
  if (op == OpKind::kConv) return absl::UnimplementedError("not understood");
  if (op == OpKind::kAdd && inputs[0] != inputs[1]) return absl::InvalidArgumentError("differ");
  return std::vector<TensorType>(static_cast<size_t>(outputs), inputs[0]);
}

absl::Status ParseWithInference(absl::string_view body) {
  return ParseGraph(AroundX(body), SameAsInput).status();
}

TEST(TextTest, InfersTypesThatAreLeftOut) {
  const absl::StatusOr<Graph> graph =
      ParseGraph(AroundX("  %y = Relu(%x)\n  output %y\n"), SameAsInput);
  ASSERT_TRUE(graph.ok()) << graph.status();
  EXPECT_EQ(graph->output_type(0), kFloats);
}

TEST(TextTest, TypesMustAgreeWithTheInferredOnes) {
  EXPECT_TRUE(ParseWithInference("%y: float32[4] = Relu(%x)\noutput %y\n").ok());
  EXPECT_TRUE(ParseWithInference("%y: float32[5] = Conv(%x)\noutput %y\n").ok());
  EXPECT_TRUE(ParseWithInference("%y: float32[5] = Opaque(%x)\noutput %y\n").ok());
  for (const char* body :
       {"%y: float32[5] = Relu(%x)\noutput %y\n", "%y = Conv(%x)\noutput %y\n",
        "%y = Opaque(%x)\noutput %y\n",
        "%a: int64[4] = Conv(%x)\n%y: float32[4] = Add(%x, %a)\noutput %y\n",
        "const %k: float32[4] = synthetic 1\nconst %c: float32[5] = Relu(%k)\noutput %c\n"}) {
    EXPECT_EQ(ParseWithInference(body).code(), absl::StatusCode::kInvalidArgument) << body;
  }
}

}  // namespace
}  // namespace plait
