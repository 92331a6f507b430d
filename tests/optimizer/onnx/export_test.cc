#include "optimizer/onnx/export.h"

#include <string>
#include <tuple>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "onnx/checker.h"
#include "optimizer/ir/text.h"
#include "optimizer/onnx/bind.h"
#include "optimizer/onnx/check_export.h"
#include "optimizer/onnx/import.h"
#include "optimizer/onnx/materialize_constants.h"
#include "optimizer/ops/evaluation/evaluate.h"
#include "optimizer/ops/shared/op_spec.h"
#include "tests/optimizer/onnx/model_text.h"

namespace plait {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

struct Loaded {
  Model model;
  Bound bound;
};

Loaded Load(const std::string& bytes, const Bindings& shapes = {}) {
  absl::StatusOr<Model> model = ImportOnnx(bytes);
  if (!model.ok()) ADD_FAILURE() << model.status();
  absl::StatusOr<Bound> bound = Bind(*model, shapes);
  if (!bound.ok()) ADD_FAILURE() << bound.status();
  return {*std::move(model), *std::move(bound)};
}

onnx::ModelProto Export(const Loaded& loaded, const ExportOptions& options = {}) {
  const absl::StatusOr<std::string> bytes =
      ExportOnnx(loaded.model, loaded.bound.graph, loaded.model.weights(), options);
  if (!bytes.ok()) ADD_FAILURE() << bytes.status();
  // Whatever is exported in here imports as what it was.
  EXPECT_EQ(CheckExport(*bytes, loaded.bound.graph, loaded.model.weights()), absl::OkStatus());
  onnx::ModelProto proto;
  EXPECT_TRUE(proto.ParseFromString(*bytes));
  return proto;
}

const onnx::NodeProto* FindNode(const onnx::ModelProto& model, const std::string& op_type) {
  for (const auto& node : model.graph().node()) {
    if (node.op_type() == op_type) return &node;
  }
  return nullptr;
}

// A model that uses weights, expressions, inline constants and several operators.
std::string SmallNet(int opset) {
  return GraphBytes(opset, R"(g (float[1,3,8,8] x) => (float[1,4] y) {
      c = Conv <pads = [1,1,1,1]> (x, w)
      r = Relu(c)
      m = Mul(r, scale)
      p = GlobalAveragePool(m)
      f = Flatten(p)
      t = Transpose(v)
      y = MatMul(f, t)
    })",
                    [](onnx::ModelProto* model) {
                      auto* graph = model->mutable_graph();
                      *graph->add_initializer() = FloatTensor("w", {4, 3, 3, 3}, -1, 0.02f);
                      *graph->add_initializer() = FloatTensor("v", {4, 4}, 1, 0.5f);
                      *graph->add_initializer() = FloatTensor("scale", {1}, 2);
                      *graph->add_initializer() = FloatTensor("unused", {500});
                      graph->mutable_node(0)->set_name("first");
                      graph->mutable_node(0)->set_doc_string("a convolution");
                      graph->set_doc_string("a graph");
                      model->set_producer_name("tests");
                      auto* entry = model->add_metadata_props();
                      entry->set_key("author");
                      entry->set_value("someone");
                      entry = model->add_metadata_props();
                      entry->set_key("plait.plan");
                      entry->set_value("an old plan");
                    });
}

Tensor Ramp(const TensorType& type) {
  std::vector<double> values(type.elements());
  for (size_t i = 0; i < values.size(); ++i) values[i] = 0.01 * static_cast<double>(i % 97) - 0.4;
  return Tensor::FromDoubles(type, values);
}

std::vector<Tensor> Evaluate(const Loaded& loaded) {
  std::vector<Tensor> inputs;
  for (const TensorId input : loaded.bound.graph.inputs()) {
    inputs.push_back(Ramp(loaded.bound.graph.type(input)));
  }
  const absl::StatusOr<std::vector<Tensor>> outputs =
      EvaluateGraph(loaded.bound.graph, inputs, loaded.model.weights());
  if (!outputs.ok()) ADD_FAILURE() << outputs.status();
  return *outputs;
}

TEST(ExportTest, WritesAModelThatComputesTheSame) {
  for (const int opset : {7, 9, 11, 13, 17, 18, 28}) {
    const Loaded original = Load(SmallNet(opset));
    const onnx::ModelProto proto = Export(original);
    const Loaded again = Load(proto.SerializeAsString());
    EXPECT_EQ(again.model.opset(), opset);
    EXPECT_EQ(Evaluate(original), Evaluate(again));
  }
}

TEST(ExportTest, PassesTheCheckerOfLibonnx) {
  for (const int opset : {7, 9, 11, 13, 17}) {
    const onnx::ModelProto proto = Export(Load(SmallNet(opset)));
    EXPECT_NO_THROW(onnx::checker::check_model(proto)) << opset;
  }
}

TEST(ExportTest, KeepsNamesDocumentationAndMetadata) {
  const onnx::ModelProto proto = Export(Load(SmallNet(13)));
  EXPECT_EQ(proto.producer_name(), "tests");
  EXPECT_EQ(proto.graph().name(), "g");
  EXPECT_EQ(proto.graph().doc_string(), "a graph");
  EXPECT_EQ(proto.graph().input(0).name(), "x");
  EXPECT_EQ(proto.graph().output(0).name(), "y");
  EXPECT_EQ(proto.graph().node(0).name(), "first");
  EXPECT_EQ(proto.graph().node(0).doc_string(), "a convolution");
  EXPECT_EQ(proto.ir_version(), 8);
  ASSERT_EQ(proto.metadata_props_size(), 1);
  EXPECT_EQ(proto.metadata_props(0).value(), "someone");
}

TEST(ExportTest, DropsUnusedInitializersAndComputesExpressions) {
  const onnx::ModelProto proto = Export(Load(SmallNet(13)));
  std::vector<std::string> names;
  for (const auto& initializer : proto.graph().initializer()) names.push_back(initializer.name());
  EXPECT_THAT(names, testing::UnorderedElementsAre("w", "scale", "t"));
  EXPECT_EQ(FindNode(proto, "Transpose"), nullptr);
}

TEST(ExportTest, EmbedsThePlanAndReadsItBack) {
  ExportOptions options;
  options.plans = {EmbeddedPlan{"the plan", "the graph", "1.2.3"}};
  const absl::StatusOr<Model> model =
      ImportOnnx(Export(Load(SmallNet(13)), options).SerializeAsString());
  ASSERT_TRUE(model.ok()) << model.status();
  const auto plans = ReadEmbeddedPlans(*model);
  ASSERT_TRUE(plans.ok() && plans->size() == 1 && plans->front().ok()) << plans.status();
  EXPECT_EQ(plans->front()->plan, "the plan");
  EXPECT_EQ(plans->front()->graph, "the graph");
  EXPECT_EQ(plans->front()->version, "1.2.3");
  EXPECT_TRUE(ReadEmbeddedPlans(Load(SmallNet(13)).model)->empty());
}

TEST(ExportTest, EqualArgumentsGiveEqualBytes) {
  const Loaded first = Load(SmallNet(13));
  const Loaded second = Load(SmallNet(13));
  const auto bytes = [](const Loaded& loaded) {
    return ExportOnnx(loaded.model, loaded.bound.graph, loaded.model.weights(), {}).value();
  };
  EXPECT_EQ(bytes(first), bytes(second));
  EXPECT_EQ(bytes(first), bytes(first));
}

TEST(ExportTest, AnExportedModelExportsToItself) {
  const std::string once = Export(Load(SmallNet(13))).SerializeAsString();
  const Loaded again = Load(once);
  EXPECT_EQ(ExportOnnx(again.model, again.bound.graph, again.model.weights(), {}).value(), once);
}

TEST(ExportTest, LowersToTheFormsOfTheOriginalOpset) {
  const onnx::ModelProto proto = Export(Load(GraphBytes(11, R"(g (float[2,3] x) => (float[3] y) {
      s = ReduceSum <axes = [0], keepdims = 1> (x)
      y = Squeeze <axes = [0]> (s)
    })")));
  const onnx::NodeProto* squeeze = FindNode(proto, "Squeeze");
  ASSERT_NE(squeeze, nullptr);
  EXPECT_EQ(squeeze->input_size(), 1);
  ASSERT_EQ(squeeze->attribute_size(), 1);
  EXPECT_EQ(squeeze->attribute(0).name(), "axes");
  EXPECT_EQ(proto.graph().initializer_size(), 0);
  EXPECT_NO_THROW(onnx::checker::check_model(proto));
}

// The graph of a model in another opset, as a rule may have made it.
Loaded WithGraph(int opset, const std::string& io, const std::string& graph_text) {
  Loaded loaded = Load(GraphBytes(opset, io));
  absl::StatusOr<Graph> graph = ParseTypedGraph(graph_text);
  if (!graph.ok()) ADD_FAILURE() << graph.status();
  loaded.bound.graph = *std::move(graph);
  return loaded;
}

TEST(ExportTest, WritesNewOperatorsAsOldOnes) {
  const Loaded loaded = WithGraph(13, "g (float[2,8] x) => (float[2,8] y) { y = Relu(x) }",
                                  R"(graph {
  input %x: float32[2,8]
  const %s: float32[8] = synthetic 1
  const %b: float32[8] = synthetic 2
  %n: float32[2,8] = LayerNormalization(%x, %s, %b) {axis=-1}
  %g: float32[2,8] = Gelu(%n) {}
  %y: float32[2,8] = Swish(%g) {}
  output %y
})");
  const onnx::ModelProto proto = Export(loaded);
  EXPECT_EQ(FindNode(proto, "LayerNormalization"), nullptr);
  EXPECT_EQ(FindNode(proto, "Gelu"), nullptr);
  EXPECT_EQ(FindNode(proto, "Swish"), nullptr);
  EXPECT_NE(FindNode(proto, "Erf"), nullptr);
  EXPECT_NO_THROW(onnx::checker::check_model(proto));
  const std::vector<Tensor> before = Evaluate(loaded);
  const std::vector<Tensor> after = Evaluate(Load(proto.SerializeAsString()));
  for (int64_t i = 0; i < before[0].elements(); ++i) {
    EXPECT_NEAR(before[0].at<float>(i), after[0].at<float>(i), 1e-5);
  }
  const onnx::ModelProto raised = Export(loaded, {.opset = 24});
  EXPECT_NE(FindNode(raised, "Swish"), nullptr);
  EXPECT_EQ(raised.opset_import(0).version(), 24);
  EXPECT_EQ(raised.ir_version(), 12);
}

// As a rule makes one of a pool whose windows are single elements.
TEST(ExportTest, WritesASliceWithStepsBeforeThereWereAny) {
  const Loaded loaded = WithGraph(9, "g (float[1,2,5,6] x) => (float[1,2,3,3] y) { y = Relu(x) }",
                                  R"(graph {
  input %x: float32[1,2,5,6]
  const %from: int64[2] = [0,1]
  const %to: int64[2] = [5,6]
  const %axes: int64[2] = [2,3]
  const %steps: int64[2] = [2,2]
  %y: float32[1,2,3,3] = Slice(%x, %from, %to, %axes, %steps) {}
  output %y
})");
  const onnx::ModelProto proto = Export(loaded);
  ASSERT_EQ(proto.graph().node_size(), 2);
  EXPECT_EQ(proto.graph().node(0).op_type(), "Gather");
  EXPECT_EQ(proto.graph().node(1).op_type(), "Gather");
  EXPECT_NO_THROW(onnx::checker::check_model(proto));
}

// Import writes these as other operators, which their own opsets must have as well: Export() checks
// that what was written comes back.
TEST(ExportTest, WritesWhatImportExpandedInTheOriginalOpset) {
  const std::tuple<int, std::string, std::string> rows[] = {
      {7, "float[1,8,2,3] x", "y = DepthToSpace <blocksize = 2> (x)"},
      {7, "float[1,2,4,6] x", "y = SpaceToDepth <blocksize = 2> (x)"},
      {7, "float[2,3] x", "y = LpNormalization <axis = 1, p = 2> (x)"},
      {7, "float[2,3] x, float[2,3] z", "y = Mean(x, z)"},
      {7, "float[1,2,4,6] x", "y = GlobalLpPool <p = 2> (x)"},
      {7, "float[1,2,4,6] x", "y = LpPool <kernel_shape = [2,2], p = 3> (x)"},
      {8, "float[1,2,4,6] x",
       "y = Upsample <scales = [1.0, 1.0, 2.0, 2.0], mode = \"linear\"> (x)"},
      {9, "float[1,2,4,6] x",
       "s = Constant <value = float[4] {1.0, 1.0, 2.0, 3.0}> () y = Upsample(x, s)"},
      {9, "float[3,4] x", "i = EyeLike(x) y = Add(x, i)"},
      {9, "float[2,3,4,2] x", "y = MeanVarianceNormalization(x)"},
      {9, "int64[3] x",
       "d = Constant <value = int64 {4}> () v = Constant <value = float[2] {0.0, 1.0}> () "
       "y = OneHot(x, d, v)"},
      {10, "float[3,4] x, int64[2,4] i, float[2,4] u", "y = Scatter(x, i, u)"},
      {12, "float[2,3,4] x, float[4,5] z", "y = Einsum <equation = \"bij,jk->bk\"> (x, z)"},
      {15, "float[3,4] x, double t", "y = CastLike(x, t)"},
      {18, "float[3,4] x", "y = ReduceL2 <noop_with_empty_axes = 1> (x)"},
      {18, "float[1,4,3] x, float[2] s, float[2] b",
       "y = GroupNormalization <num_groups = 2> (x, s, b)"},
  };
  for (const auto& [opset, inputs, nodes] : rows) {
    SCOPED_TRACE(nodes);
    const Loaded loaded =
        Load(GraphBytes(opset, absl::StrCat("g (", inputs, ") => (y) { ", nodes, " }")));
    EXPECT_TRUE(loaded.bound.opaque_nodes.empty());
    for (NodeId node = 0; node < loaded.bound.graph.node_count(); ++node) {
      EXPECT_FALSE(ExpandsAtImport(loaded.bound.graph, node));
    }
    const onnx::ModelProto exported = Export(loaded);
    EXPECT_EQ(exported.opset_import(0).version(), opset);
  }
}

TEST(ExportTest, RefusesToLowerTheOpset) {
  const Loaded loaded = Load(SmallNet(13));
  for (const int opset : {12, 29}) {
    const auto bytes =
        ExportOnnx(loaded.model, loaded.bound.graph, loaded.model.weights(), {.opset = opset});
    EXPECT_EQ(bytes.status().code(), absl::StatusCode::kInvalidArgument) << opset;
  }
}

TEST(ExportTest, GivesOneTensorTwoNamesByIdentity) {
  const onnx::ModelProto proto = Export(WithGraph(
      13, "g (float[2] x) => (float[2] y, float[2] z) { y = Relu(x) z = Relu(x) }", R"(graph {
  input %x: float32[2]
  %r: float32[2] = Relu(%x) {}
  output %r, %r
})"));
  ASSERT_EQ(proto.graph().node_size(), 2);
  EXPECT_EQ(proto.graph().node(0).output(0), "y");
  EXPECT_EQ(proto.graph().node(1).op_type(), "Identity");
  EXPECT_EQ(proto.graph().node(1).output(0), "z");
  EXPECT_NO_THROW(onnx::checker::check_model(proto));
}

TEST(ExportTest, WritesAnInputThatIsAnOutput) {
  const onnx::ModelProto proto =
      Export(WithGraph(13, "g (float[2] x) => (float[2] y) { y = Identity(x) }", R"(graph {
  input %x: float32[2]
  output %x
})"));
  ASSERT_EQ(proto.graph().node_size(), 1);
  EXPECT_EQ(proto.graph().node(0).op_type(), "Identity");
}

constexpr char kBranches[] = R"(g (bool cond, float[2] x) => (float[2] y) {
      outer = Relu(x)
      y = If (cond) <
        then_branch = t () => (float[2] r) { inner = Abs(outer) r = Neg(inner) },
        else_branch = e () => (float[2] s) { s = Neg(x) }
      >
    })";

TEST(ExportTest, WritesOpaqueNodesBackByteForByte) {
  const std::string bytes = GraphBytes(13, kBranches, [](auto* model) {
    // A field that this build's onnx does not know: metadata_props of a node.
    onnx::NodeProto* node = model->mutable_graph()->mutable_node(1);
    std::string serialized = node->SerializeAsString();
    serialized.append("\x4a\x04\x0a\x02hi", 6);
    EXPECT_TRUE(node->ParseFromString(serialized));
  });
  const onnx::ModelProto proto = Export(Load(bytes));
  onnx::ModelProto original;
  ASSERT_TRUE(original.ParseFromString(bytes));
  const onnx::NodeProto* node = FindNode(proto, "If");
  ASSERT_NE(node, nullptr);
  EXPECT_EQ(node->SerializeAsString(), original.graph().node(1).SerializeAsString());
  EXPECT_NO_THROW(onnx::checker::check_model(proto));
}

TEST(ExportTest, KeepsTheNamesThatSubgraphsRead) {
  Loaded loaded = Load(GraphBytes(13, kBranches));
  // The optimizer may have computed `outer` in another way, and used the name `inner` for it.
  std::string text = PrintGraph(loaded.bound.graph);
  for (size_t at = text.find("%outer"); at != std::string::npos; at = text.find("%outer", at)) {
    text.replace(at, 6, "%inner");
  }
  absl::StatusOr<Graph> graph = ParseGraph(text);
  ASSERT_TRUE(graph.ok()) << graph.status();
  loaded.bound.graph = *std::move(graph);
  const onnx::ModelProto proto = Export(loaded);
  EXPECT_EQ(FindNode(proto, "Relu")->output(0), "outer");
  EXPECT_NO_THROW(onnx::checker::check_model(proto));
}

TEST(ExportTest, RefusesToRaiseTheOpsetPastAnOpaqueNode) {
  const auto status_of = [](const std::string& bytes) {
    const Loaded loaded = Load(bytes);
    return std::string(
        ExportOnnx(loaded.model, loaded.bound.graph, loaded.model.weights(), {.opset = 17})
            .status()
            .message());
  };
  EXPECT_THAT(status_of(GraphBytes(13, kBranches)),
              HasSubstr("If of 'y': If stays as it is in opset 13"));
  // Softmax means another axis from opset 13 on, wherever it stands.
  constexpr char kForeign[] = R"(<ir_version: 6, opset_import: ["" : 11, "com.example" : 1]>
    g (float[1,2,3] x) => (float[1,2,3] y) {
      y = com.example.Run <body = b (float[1,2,3] s) => (float[1,2,3] t) { t = Softmax(s) }> (x)
    })";
  EXPECT_THAT(status_of(BytesFromText(kForeign)), HasSubstr("Run stays as it is in opset 11"));
}

TEST(ExportTest, AModelOfForeignOperatorsKeepsItsVersions) {
  constexpr char kForeign[] = R"(<ir_version: 8, opset_import: ["com.example" : 1]>
    g (float[4] x) => (float[4] y) { y = com.example.Gelu(x) })";
  const onnx::ModelProto proto = Export(Load(BytesFromText(kForeign)));
  EXPECT_EQ(proto.ir_version(), 8);
  ASSERT_EQ(proto.opset_import_size(), 1);
  EXPECT_EQ(proto.opset_import(0).domain(), "com.example");
}

TEST(ExportTest, APieceHasTheOperatorsOfItsOpset) {
  const Loaded loaded = Load(GraphBytes(9, R"(g (float[1,1,2,2] x) => (float[1,1,4,4] y) {
      scales = Constant <value = float[4] {1, 1, 2, 2}> ()
      y = Upsample(x, scales)
    })"));
  const auto bytes = ExportPiece(loaded.model, loaded.bound.graph, {});
  ASSERT_TRUE(bytes.ok()) << bytes.status();
  onnx::ModelProto proto;
  ASSERT_TRUE(proto.ParseFromString(*bytes));
  EXPECT_NE(FindNode(proto, "Upsample"), nullptr);
}

TEST(ExportTest, CarriesTensorsThatTheIrLacks) {
  const std::string bytes =
      GraphBytes(13, "g (string[2] x) => (bool[2] y) { y = Equal(x, w) }", [](auto* model) {
        auto* tensor = model->mutable_graph()->add_initializer();
        tensor->set_name("w");
        tensor->set_data_type(onnx::TensorProto::STRING);
        tensor->add_dims(2);
        tensor->add_string_data("a");
        tensor->add_string_data("b");
      });
  const Loaded loaded = Load(bytes);
  EXPECT_EQ(loaded.bound.opaque_nodes.size(), 2u);
  const onnx::ModelProto proto = Export(loaded);
  ASSERT_NE(FindNode(proto, "Constant"), nullptr);
  EXPECT_EQ(FindNode(proto, "Constant")->attribute(0).t().string_data(1), "b");
  EXPECT_EQ(FindNode(proto, "Equal")->input(1), "w");
}

TEST(ExportTest, WritesTheShapesThatWereBound) {
  const onnx::ModelProto proto =
      Export(Load(GraphBytes(13, "g (float[batch,3] x) => (float[batch,3] y) { y = Relu(x) }"),
                  {{"x", {5, 3}}}));
  EXPECT_EQ(proto.graph().input(0).type().tensor_type().shape().dim(0).dim_value(), 5);
  EXPECT_EQ(proto.graph().output(0).type().tensor_type().shape().dim(0).dim_value(), 5);
}

TEST(MaterializeConstantsTest, LeavesWeightsAndInlineValuesOnly) {
  const Loaded loaded =
      Load(GraphBytes(13, R"(g (float[2,30] x) => (float[2,20] y) {
      t = Transpose <perm = [1,0]> (w)
      y = MatMul(x, t)
    })",
                      [](auto* model) {
                        *model->mutable_graph()->add_initializer() = FloatTensor("w", {20, 30});
                      }));
  const ModelWeights weights = loaded.model.weights();
  const absl::StatusOr<Materialized> materialized =
      MaterializeConstants(loaded.bound.graph, weights);
  ASSERT_TRUE(materialized.ok()) << materialized.status();
  const Graph& graph = materialized->graph;
  ASSERT_EQ(graph.node_count(), 1);
  const ConstantRef& constant = graph.tensor(graph.node(0).inputs[1]).constant;
  const auto* weight = std::get_if<Constant::Weight>(&constant->value());
  ASSERT_NE(weight, nullptr);
  const absl::StatusOr<Tensor> value = materialized->weights->Get(weight->digest, constant->type());
  ASSERT_TRUE(value.ok()) << value.status();
  EXPECT_EQ(value->at<float>(1), 30.0f);

  // The exported file holds the very weights that the materialized graph names.
  const absl::StatusOr<std::string> bytes =
      ExportOnnx(loaded.model, graph, *materialized->weights, {});
  ASSERT_TRUE(bytes.ok()) << bytes.status();
  EXPECT_TRUE(Load(*bytes).model.weights().Get(weight->digest, constant->type()).ok());
}

}  // namespace
}  // namespace plait
