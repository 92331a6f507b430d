#include "optimizer/onnx/check_export.h"

#include <functional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "optimizer/onnx/bind.h"
#include "optimizer/onnx/export.h"
#include "optimizer/onnx/import.h"
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

}  // namespace
}  // namespace plait
