#include "optimizer/onnx/check_export.h"

#include <functional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "optimizer/ir/text.h"
#include "optimizer/onnx/bind.h"
#include "optimizer/onnx/export.h"
#include "optimizer/onnx/import.h"
#include "optimizer/ops/shared/op_spec.h"
#include "tests/optimizer/onnx/model_text.h"

namespace plait {
namespace {

using ::testing::HasSubstr;

// What CheckExport says of a file in which something was changed after it was written.
absl::Status CheckChanged(const std::function<void(onnx::GraphProto&)>& change) {
  const absl::StatusOr<Model> model = ImportOnnx(
      GraphBytes(13, "g (float[1,3] x) => (float[1,4] y) { m = MatMul(x, w) y = Relu(m) }",
                 [](onnx::ModelProto* proto) {
                   *proto->mutable_graph()->add_initializer() = FloatTensor("w", {3, 4}, 1, 0.5f);
                 }));
  EXPECT_TRUE(model.ok()) << model.status();
  const absl::StatusOr<Bound> bound = Bind(*model, {});
  EXPECT_TRUE(bound.ok()) << bound.status();
  const absl::StatusOr<std::string> bytes = ExportOnnx(*model, bound->graph, model->weights(), {});
  EXPECT_TRUE(bytes.ok()) << bytes.status();
  onnx::ModelProto proto;
  EXPECT_TRUE(proto.ParseFromString(*bytes));
  change(*proto.mutable_graph());
  return CheckExport(proto.SerializeAsString(), bound->graph, model->weights());
}

TEST(CheckExportTest, AcceptsWhatWasWritten) {
  EXPECT_EQ(CheckChanged([](onnx::GraphProto&) {}), absl::OkStatus());
}

TEST(CheckExportTest, RefusesAnotherGraph) {
  const std::pair<const char*, std::function<void(onnx::GraphProto&)>> cases[] = {
      {"an operator", [](auto& graph) { graph.mutable_node(1)->set_op_type("Abs"); }},
      {"a bit of a weight",
       [](auto& graph) { graph.mutable_initializer(0)->mutable_raw_data()->front() ^= 1; }},
      {"an edge", [](auto& graph) { *graph.mutable_node(1)->mutable_input(0) = "other"; }},
      {"a shape",
       [](auto& graph) {
         auto* type = graph.mutable_input(0)->mutable_type()->mutable_tensor_type();
         type->mutable_shape()->mutable_dim(0)->set_dim_value(2);
       }},
      {"a node more",
       [](auto& graph) {
         graph.mutable_node(1)->set_output(0, "z");
         *graph.add_node() = graph.node(1);
         graph.mutable_node(2)->set_input(0, "z");
         graph.mutable_node(2)->set_output(0, "y");
       }},
  };
  for (const auto& [name, change] : cases) {
    const absl::Status status = CheckChanged(change);
    EXPECT_EQ(status.code(), absl::StatusCode::kInternal) << name;
    EXPECT_THAT(status.message(), HasSubstr("the exported model")) << name;
  }
}

// As the normal form has it, in which equal constants are one.
TEST(CheckExportTest, AcceptsUnknownOperatorsWhoseConstantsWereMerged) {
  const absl::StatusOr<Model> model = ImportOnnx(
      GraphBytes(13, "g (float[2] x) => (float[2] y) { a = Strange(x, v) y = Strange(a, w) }",
                 [](onnx::ModelProto* proto) {
                   for (const char* name : {"v", "w"}) {
                     *proto->mutable_graph()->add_initializer() = FloatTensor(name, {2}, 1, 0.5f);
                   }
                 }));
  ASSERT_TRUE(model.ok()) << model.status();
  const absl::StatusOr<Bound> bound = Bind(*model, {});
  ASSERT_TRUE(bound.ok()) << bound.status();
  const absl::StatusOr<Graph> merged =
      ParseGraph(absl::StrReplaceAll(PrintGraph(bound->graph), {{", %w)", ", %v)"}}));
  ASSERT_TRUE(merged.ok()) << merged.status();
  ASSERT_EQ(merged->node(0).inputs[1], merged->node(1).inputs[1]);
  const absl::StatusOr<std::string> bytes = ExportOnnx(*model, *merged, model->weights(), {});
  ASSERT_TRUE(bytes.ok()) << bytes.status();
  EXPECT_EQ(CheckExport(*bytes, *merged, model->weights()), absl::OkStatus());
}

// A fault that the file has and that is also in what the exporter says a node is written as: no
// comparison of the two can find it.
struct SharedFault {
  const char* what;
  int opset;
  const char* node;                               // of %x: float32[2,3,4]
  std::function<void(onnx::NodeProto*)> in_file;  // for every node
  const char* right;                              // of the form's text
  const char* wrong;
};

absl::Status CheckFault(const SharedFault& fault) {
  const absl::StatusOr<Model> model =
      ImportOnnx(GraphBytes(fault.opset, "g (float[2,3,4] x) => (float[2,3,4] y) { y = Relu(x) }"));
  EXPECT_TRUE(model.ok()) << model.status();
  const absl::StatusOr<Graph> graph = ParseTypedGraph(
      absl::StrCat("graph {\n  input %x: float32[2,3,4]\n  %y = ", fault.node, "\n  output %y\n}"));
  EXPECT_TRUE(graph.ok()) << graph.status();
  const absl::StatusOr<std::string> bytes = ExportOnnx(*model, *graph, model->weights(), {});
  EXPECT_TRUE(bytes.ok()) << bytes.status();
  EXPECT_EQ(CheckExport(*bytes, *graph, model->weights()), absl::OkStatus()) << fault.what;
  onnx::ModelProto proto;
  EXPECT_TRUE(proto.ParseFromString(*bytes));
  for (auto& node : *proto.mutable_graph()->mutable_node()) fault.in_file(&node);
  const auto form_of = [&](const Graph& alone, int opset) -> absl::StatusOr<Graph> {
    const absl::StatusOr<Graph> form = WrittenForm(alone, opset);
    EXPECT_TRUE(form.ok()) << form.status();
    const std::string text = PrintGraph(*form);
    EXPECT_THAT(text, HasSubstr(fault.right)) << fault.what;
    return ParseTypedGraph(absl::StrReplaceAll(text, {{fault.right, fault.wrong}}));
  };
  return CheckExport(proto.SerializeAsString(), *graph, model->weights(), form_of);
}

TEST(CheckExportTest, RefusesAFaultThatTheExporterShares) {
  const SharedFault faults[] = {
      {"a lowering changes an attribute", 13, "Softmax(%x) {axis=-1}",
       [](auto* node) { node->mutable_attribute(0)->set_i(1); }, "axis=-1", "axis=1"},
      {"a lowering drops an attribute", 13, "Softmax(%x) {axis=1}",
       [](auto* node) { node->clear_attribute(); }, "{axis=1}", "{}"},
      {"an expansion uses another operator", 13, "Gelu(%x)",
       [](auto* node) {
         if (node->op_type() == "Erf") node->set_op_type("Tanh");
       },
       "Erf(", "Tanh("},
  };
  for (const SharedFault& fault : faults) {
    const absl::Status status = CheckFault(fault);
    EXPECT_EQ(status.code(), absl::StatusCode::kInternal) << fault.what;
    EXPECT_THAT(status.message(), HasSubstr("the exported model says something else"))
        << fault.what;
    EXPECT_THAT(status.message(), HasSubstr("of 'y': output 0: differs by")) << fault.what;
  }
}

}  // namespace
}  // namespace plait
