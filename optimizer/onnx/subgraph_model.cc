#include "optimizer/onnx/subgraph_model.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "optimizer/onnx/import.h"
#include "optimizer/onnx/messages/captured_names.h"
#include "optimizer/onnx/messages/tensor_proto.h"
#include "optimizer/onnx/messages/write_message.h"
#include "optimizer/onnx/model_parts.h"
#include "optimizer/onnx/opaque_node.h"
#include "optimizer/ops/evaluation/evaluate.h"

namespace plait {
namespace {

// A tensor of any shape.
onnx::TypeProto OfAnyShape(DataType dtype) {
  onnx::TypeProto type;
  type.tensor_type.mutable_value()->elem_type = static_cast<int32_t>(dtype);
  return type;
}

onnx::ModelProto HeaderOf(const Model& original) {
  const onnx::ModelProto& proto = original.parts()->proto;
  onnx::ModelProto header;
  header.ir_version = proto.ir_version();
  header.opset_import = proto.opset_import;
  return header;
}

}  // namespace

absl::StatusOr<Model> SubgraphModel(const Model& original, const Graph& graph, NodeId node,
                                    absl::string_view attribute, absl::Span<const DataType> types) {
  PLAIT_ASSIGN_OR_RETURN(const onnx::NodeProto proto, ReadOpaqueNode(graph.node(node)));
  // The first one of the name, as for whoever reads the node itself.
  const auto found =
      std::find_if(proto.attribute.begin(), proto.attribute.end(),
                   [&](const onnx::AttributeProto& one) { return one.name() == attribute; });
  onnx::GraphProto body = found == proto.attribute.end() ? onnx::GraphProto() : found->g();
  const size_t own = body.input.size();
  const std::vector<std::string> captured = CapturedNames(proto);
  if (types.size() != own + captured.size()) {
    return absl::InvalidArgumentError(absl::StrCat(attribute, " has ", own, " inputs and reads ",
                                                   captured.size(), " outer values, and is given ",
                                                   types.size()));
  }
  for (size_t i = 0; i < own; ++i) body.input[i].type = OfAnyShape(types[i]);
  const ModelWeights weights = original.weights();
  for (size_t i = 0; i < captured.size(); ++i) {
    const TensorId tensor = graph.node(node).inputs[proto.input.size() + i];
    const ConstantRef& constant = graph.tensor(tensor).constant;
    if (constant != nullptr) {
      PLAIT_ASSIGN_OR_RETURN(const Tensor value, EvaluateConstant(*constant, weights));
      body.initializer.push_back(WriteTensorProto(value, captured[i]));
      continue;
    }
    onnx::ValueInfoProto& input = body.input.emplace_back();
    input.name = captured[i];
    input.type = OfAnyShape(types[own + i]);
  }
  if (body.name().empty()) body.name = std::string(attribute);
  onnx::ModelProto model = HeaderOf(original);
  model.graph = std::move(body);
  PLAIT_ASSIGN_OR_RETURN(const std::string bytes, WriteMessage(model, "a subgraph"));
  return ImportOnnx(bytes);
}

}  // namespace plait
