#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "base/limits.h"
#include "optimizer/ir/text.h"
#include "optimizer/onnx/bind.h"
#include "optimizer/onnx/import.h"
#include "tests/optimizer/onnx/model_text.h"

namespace plait {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kCall[] = R"(<ir_version: 8, opset_import: ["" : 13, "local" : 1]>
    g (float[2] x) => (float[2] y) {
      a = local.Twice <alpha = 0.25> (x)
      y = local.Twice(a)
    })";

onnx::FunctionProto Function(const std::string& name, const std::vector<std::string>& ops,
                             int64_t opset = 13) {
  onnx::FunctionProto function;
  function.set_domain("local");
  function.set_name(name);
  function.add_input("in");
  function.add_output("out");
  auto* import = function.add_opset_import();
  import->set_version(opset);
  std::string value = "in";
  for (size_t i = 0; i < ops.size(); ++i) {
    onnx::NodeProto* node = function.add_node();
    const size_t dot = ops[i].find('.');
    if (dot != std::string::npos) node->set_domain(ops[i].substr(0, dot));
    node->set_op_type(dot == std::string::npos ? ops[i] : ops[i].substr(dot + 1));
    node->add_input(value);
    value = i + 1 == ops.size() ? "out" : absl::StrCat("v", i);
    node->add_output(value);
  }
  return function;
}

absl::StatusOr<Bound> BindWith(const std::vector<onnx::FunctionProto>& functions) {
  const absl::StatusOr<Model> model = ImportOnnx(BytesFromText(kCall, [&](onnx::ModelProto* proto) {
    for (const auto& function : functions) *proto->add_functions() = function;
  }));
  if (!model.ok()) return model.status();
  return Bind(*model, {});
}

void ExpectRefusedInlining(const absl::Status& status, const std::string& what) {
  EXPECT_FALSE(status.ok());
  EXPECT_THAT(std::string(status.message()), HasSubstr(what));
}

TEST(InlineFunctionsTest, PutsBodiesInTheirCallersPlace) {
  const absl::StatusOr<Bound> bound = BindWith({Function("Twice", {"Relu", "Neg"})});
  ASSERT_TRUE(bound.ok()) << bound.status();
  EXPECT_EQ(PrintGraph(bound->graph), R"(graph {
  input %x: float32[2]
  %Twice_0/v0: float32[2] = Relu(%x) {}
  %a: float32[2] = Neg(%Twice_0/v0) {}
  %Twice_1/v0: float32[2] = Relu(%a) {}
  %y: float32[2] = Neg(%Twice_1/v0) {}
  output %y
}
)");
}

TEST(InlineFunctionsTest, FunctionsMayCallFunctions) {
  const absl::StatusOr<Bound> bound =
      BindWith({Function("Twice", {"local.Inner", "Abs"}), Function("Inner", {"Relu"})});
  ASSERT_TRUE(bound.ok()) << bound.status();
  EXPECT_EQ(bound->graph.node_count(), 4);
}

TEST(InlineFunctionsTest, AttributesAreGivenOrDefaultOrAbsent) {
  onnx::FunctionProto function = Function("Twice", {"LeakyRelu"});
  onnx::AttributeProto* reference = function.mutable_node(0)->add_attribute();
  reference->set_name("alpha");
  reference->set_ref_attr_name("alpha");
  reference->set_type(onnx::AttributeProto::FLOAT);
  function.add_attribute("alpha");
  absl::StatusOr<Bound> bound = BindWith({function});
  ASSERT_TRUE(bound.ok()) << bound.status();
  EXPECT_EQ(bound->graph.node(0).attributes->Float("alpha", -1), 0.25f);
  EXPECT_FALSE(bound->graph.node(1).attributes->Has("alpha"));

  // A default, in the field that newer versions of ONNX have for it.
  onnx::AttributeProto given;
  given.set_name("alpha");
  given.set_type(onnx::AttributeProto::FLOAT);
  given.set_f(0.5f);
  const std::string bytes = given.SerializeAsString();
  std::string serialized = function.SerializeAsString();
  serialized.append({'\x5a', static_cast<char>(bytes.size())});
  serialized.append(bytes);
  ASSERT_TRUE(function.ParseFromString(serialized));
  bound = BindWith({function});
  ASSERT_TRUE(bound.ok()) << bound.status();
  EXPECT_EQ(bound->graph.node(1).attributes->Float("alpha", -1), 0.5f);
}

TEST(InlineFunctionsTest, AFunctionMayReturnItsInput) {
  onnx::FunctionProto function = Function("Twice", {"Relu"});
  function.set_output(0, "in");
  const absl::StatusOr<Bound> bound = BindWith({function});
  ASSERT_TRUE(bound.ok()) << bound.status();
  EXPECT_EQ(bound->graph.node(0).op, OpKind::kIdentity);
}

// Softmax over the last axis since opset 13, over all behind the first one before.
TEST(InlineFunctionsTest, BodiesMeanWhatTheirOpsetSaysWhereTheModelHasNone) {
  constexpr char kOnlyCalls[] = R"(<ir_version: 8, opset_import: ["local" : 1]>
    g (float[2,3,4] x) => (float[2,3,4] y) { y = local.Twice(x) })";
  const auto imported = [&](const std::vector<onnx::FunctionProto>& functions) {
    return ImportOnnx(BytesFromText(kOnlyCalls, [&](onnx::ModelProto* proto) {
      for (const auto& function : functions) *proto->add_functions() = function;
    }));
  };
  const absl::StatusOr<Model> model = imported({Function("Twice", {"Softmax"}, 11)});
  ASSERT_TRUE(model.ok()) << model.status();
  const absl::StatusOr<Bound> bound = Bind(*model, {});
  ASSERT_TRUE(bound.ok()) << bound.status();
  // Which no Softmax of the newest opset is, so that it stays what it was.
  EXPECT_THAT(PrintGraph(bound->graph), Not(HasSubstr("= Softmax(%x)")));
  ExpectRefusedInlining(
      imported({Function("Twice", {"Softmax", "local.Other"}, 11), Function("Other", {"Relu"}, 13)})
          .status(),
      "imports opset 13");
}

TEST(InlineFunctionsTest, TheModelGetsTheImportsOfFunctionsThatAreCalled) {
  const auto imported = [](const std::string& name, int64_t version) {
    onnx::FunctionProto function = Function(name, {"com.example.Gelu"});
    function.mutable_node(0)->set_domain("com.example");
    function.mutable_node(0)->set_op_type("Gelu");
    auto* import = function.add_opset_import();
    import->set_domain("com.example");
    import->set_version(version);
    return function;
  };
  const auto model_of = [](const std::vector<onnx::FunctionProto>& functions) {
    return ImportOnnx(BytesFromText(kCall, [&](onnx::ModelProto* proto) {
      for (const auto& function : functions) *proto->add_functions() = function;
    }));
  };
  const absl::StatusOr<Model> model = model_of({imported("Twice", 3), imported("Unused", 4)});
  ASSERT_TRUE(model.ok()) << model.status();
  const OpsetImport last = model->opset_imports().back();
  EXPECT_EQ(last.domain, "com.example");
  EXPECT_EQ(last.version, 3);
  onnx::FunctionProto calls = imported("Twice", 3);
  *calls.add_node() = Function("", {"local.Other"}).node(0);
  calls.mutable_node(1)->set_output(0, "unused");
  ExpectRefusedInlining(model_of({calls, imported("Other", 4)}).status(),
                        "function 'Other' imports opset 4 of 'com.example', the model opset 3");
}

// What nobody calls changes nothing, whatever it is.
TEST(InlineFunctionsTest, PassesOverWhatNobodyCalls) {
  onnx::FunctionProto overloaded = Function("Other", {"Relu"});
  std::string serialized = overloaded.SerializeAsString();
  serialized.append("\x6a\x01v", 3);
  ASSERT_TRUE(overloaded.ParseFromString(serialized));
  const absl::Status status =
      BindWith({Function("Twice", {"Relu"}), Function("Old", {"Relu"}, 11), overloaded, overloaded})
          .status();
  EXPECT_TRUE(status.ok()) << status;
}

TEST(InlineFunctionsTest, RefusesRecursion) {
  ExpectRefusedInlining(BindWith({Function("Twice", {"local.Twice"})}).status(), "calls itself");
  ExpectRefusedInlining(
      BindWith({Function("Twice", {"local.Inner"}), Function("Inner", {"local.Twice"})}).status(),
      "calls itself");
}

TEST(InlineFunctionsTest, RefusesBodiesThatGrowWithoutBound) {
  std::vector<onnx::FunctionProto> functions = {Function("Twice", {"local.F0", "local.F0"})};
  for (int i = 0; i < 40; ++i) {
    const std::string next = absl::StrCat("local.F", i + 1);
    functions.push_back(Function(absl::StrCat("F", i), {next, next}));
  }
  functions.push_back(Function("F40", {}));
  functions.back().set_output(0, "in");
  ExpectRefusedInlining(BindWith(functions).status(), "functions expand to more than");
}

// A model that calls function "Bomb" again and again.
absl::StatusOr<Model> ImportCalls(const onnx::FunctionProto& function, int calls) {
  return ImportOnnx(BytesFromText(kCall, [&](onnx::ModelProto* proto) {
    proto->mutable_graph()->clear_node();
    for (int i = 0; i < calls; ++i) {
      onnx::NodeProto* const node = proto->mutable_graph()->add_node();
      node->set_domain("local");
      node->set_op_type(function.name());
      node->add_input(i == 0 ? "x" : absl::StrCat("y", i - 1));
      node->add_output(i + 1 == calls ? "y" : absl::StrCat("y", i));
    }
    *proto->add_functions() = function;
  }));
}

TEST(InlineFunctionsTest, CountsTheNodesOfAllCalls) {
  const onnx::FunctionProto function = Function("Bomb", std::vector<std::string>(1000, "Relu"));
  EXPECT_TRUE(ImportCalls(function, 10).ok());
  ExpectRefusedInlining(ImportCalls(function, 1001).status(), "more than 1000000 nodes");
}

// Each of the following files has a few megabytes and would take a gigabyte or more.
TEST(InlineFunctionsTest, RefusesAFunctionThatMultipliesItsTensor) {
  onnx::FunctionProto function = Function("Bomb", {"Relu"});
  onnx::NodeProto* const constant = function.add_node();
  constant->set_op_type("Constant");
  constant->add_output("weight");
  onnx::AttributeProto* const value = constant->add_attribute();
  value->set_name("value");
  value->set_type(onnx::AttributeProto::TENSOR);
  *value->mutable_t() = FloatTensor("", {1 << 18});
  EXPECT_TRUE(ImportCalls(function, 10).ok());
  ExpectRefusedInlining(ImportCalls(function, 1024).status(), "functions expand to more than");
}

TEST(InlineFunctionsTest, RefusesAFunctionThatMultipliesAnAttributeOfItsCall) {
  onnx::FunctionProto function = Function("Bomb", std::vector<std::string>(1024, "Relu"));
  function.add_attribute("large");
  for (onnx::NodeProto& node : *function.mutable_node()) {
    onnx::AttributeProto* const attribute = node.add_attribute();
    attribute->set_name("note");
    attribute->set_ref_attr_name("large");
  }
  const auto import = [&](size_t bytes) {
    return ImportOnnx(BytesFromText(kCall,
                                    [&](onnx::ModelProto* proto) {
                                      onnx::NodeProto* const node =
                                          proto->mutable_graph()->mutable_node(1);
                                      node->set_op_type("Bomb");
                                      proto->mutable_graph()->mutable_node(0)->set_op_type("Bomb");
                                      onnx::AttributeProto* const attribute = node->add_attribute();
                                      attribute->set_name("large");
                                      attribute->set_type(onnx::AttributeProto::STRING);
                                      attribute->set_s(std::string(bytes, 'x'));
                                      *proto->add_functions() = function;
                                    }))
        .status();
  };
  EXPECT_TRUE(import(1000).ok()) << import(1000);
  ExpectRefusedInlining(import(1 << 20), "functions expand to more than");
}

TEST(InlineFunctionsTest, RefusesAFunctionThatMultipliesItsName) {
  const std::vector<std::string> ops(600, "Relu");
  EXPECT_TRUE(ImportCalls(Function(std::string(1000, 'n'), ops), 1).ok());
  ExpectRefusedInlining(ImportCalls(Function(std::string(1 << 20, 'n'), ops), 1).status(),
                        "functions expand to more than");
}

TEST(InlineFunctionsTest, RefusesAFunctionThatMultipliesItsInputs) {
  onnx::FunctionProto function = Function("Bomb", {"Relu"});
  for (int i = 0; i < 10'000; ++i) function.add_input(absl::StrCat("in", i));
  EXPECT_TRUE(ImportCalls(function, 10).ok());
  ExpectRefusedInlining(ImportCalls(function, 1000).status(), "functions expand to more than");
}

TEST(InlineFunctionsTest, RefusesBodiesThatNestSubgraphsTooDeep) {
  // If in If: an outer one in the branch of the next.
  const auto nested = [](int depth, const std::string& call) {
    onnx::NodeProto node = Function("", {call}).node(0);
    for (int i = 0; i < depth; ++i) {
      onnx::NodeProto outer;
      outer.set_op_type("If");
      outer.add_input("in");
      outer.add_output("out");
      onnx::AttributeProto* const branch = outer.add_attribute();
      branch->set_name("then_branch");
      branch->set_type(onnx::AttributeProto::GRAPH);
      *branch->mutable_g()->add_node() = node;
      node = outer;
    }
    return node;
  };
  const auto status_of = [&](int depth) {
    std::vector<onnx::FunctionProto> functions = {Function("Twice", {}), Function("Inner", {})};
    *functions[0].add_node() = nested(depth, "local.Inner");
    *functions[1].add_node() = nested(kSubgraphDepthMax / 2, "Relu");
    return BindWith(functions).status();
  };
  EXPECT_TRUE(status_of(kSubgraphDepthMax / 2).ok()) << status_of(kSubgraphDepthMax / 2);
  ExpectRefusedInlining(status_of(kSubgraphDepthMax / 2 + 1), "nested deeper than 16");
}

TEST(InlineFunctionsTest, RefusesWhatItDoesNotUnderstand) {
  onnx::FunctionProto overloaded = Function("Twice", {"Relu"});
  std::string serialized = overloaded.SerializeAsString();
  serialized.append("\x6a\x01v", 3);
  ASSERT_TRUE(overloaded.ParseFromString(serialized));
  ExpectRefusedInlining(BindWith({overloaded}).status(), "function 'Twice' is overloaded");
  ExpectRefusedInlining(BindWith({Function("Twice", {"Relu"}, 11)}).status(), "imports opset 11");
  ExpectRefusedInlining(
      BindWith({Function("Twice", {"Relu"}), Function("Twice", {"Abs"})}).status(),
      "defined twice");
}

TEST(InlineFunctionsTest, RenamesInsideSubgraphsOfBodies) {
  onnx::ModelProto outer = ModelFromText(R"(<ir_version: 8, opset_import: ["" : 13]>
    g (bool c, float[2] in) => (float[2] out) {
      v = Relu(in)
      out = If (c) <
        then_branch = t () => (float[2] r) { r = Abs(v) },
        else_branch = e () => (float[2] s) { s = Neg(in) }
      >
    })");
  onnx::FunctionProto function = Function("Twice", {"Relu"});
  *function.mutable_node() = outer.graph().node();
  onnx::NodeProto cond;
  cond.set_op_type("Constant");
  cond.add_output("c");
  auto* value = cond.add_attribute();
  value->set_name("value");
  value->set_type(onnx::AttributeProto::TENSOR);
  value->mutable_t()->set_data_type(onnx::TensorProto::BOOL);
  value->mutable_t()->add_int32_data(1);
  *function.add_node() = cond;
  const absl::StatusOr<Bound> bound = BindWith({function});
  ASSERT_TRUE(bound.ok()) << bound.status();
  const Node& last = bound->graph.node(bound->graph.node_count() - 1);
  std::vector<std::string> read;
  for (const TensorId input : last.inputs) read.push_back(*bound->graph.tensor(input).name);
  // The condition is one constant for both calls.
  EXPECT_THAT(read, testing::ElementsAre("Twice_0/c", "Twice_1/v", "a"));
}

}  // namespace
}  // namespace plait
