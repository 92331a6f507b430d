#include "optimizer/onnx/node_form.h"

#include <memory>
#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "optimizer/ir/graph_copier.h"
#include "optimizer/onnx/expand_nodes.h"
#include "optimizer/onnx/node_version.h"
#include "optimizer/ops/shared/op_spec.h"

namespace plait {

absl::StatusOr<Graph> NodeAlone(const Graph& graph, NodeId id,
                                absl::FunctionRef<TensorType(const TensorType&)> resized) {
  GraphBuilder builder;
  Node node = graph.node(id);
  for (TensorId& input : node.inputs) {
    if (input == kNoTensor) continue;
    const TensorInfo& tensor = graph.tensor(input);
    const bool stays = tensor.constant != nullptr && tensor.constant->inline_value() != nullptr;
    input = stays ? builder.AddConstant(tensor.constant)
                  : builder.AddInput(resized(tensor.type), *tensor.name);
  }
  const auto wanted = std::exchange(node.outputs, {});
  PLAIT_ASSIGN_OR_RETURN(std::vector<TensorType> types,
                         InferTypes(builder, node, static_cast<int>(wanted.size())));
  // Not vector<bool>, which has no array to take a span of.
  const auto omitted = std::make_unique<bool[]>(wanted.size());
  for (size_t i = 0; i < wanted.size(); ++i) {
    omitted[i] = wanted[i] == kNoTensor;
    if (omitted[i]) types[i] = {};
  }
  const std::vector<TensorId> outputs = builder.AddNode(
      std::move(node), types, {}, absl::MakeConstSpan(omitted.get(), wanted.size()));
  for (const TensorId output : outputs) {
    if (output != kNoTensor) builder.AddOutput(output);
  }
  return std::move(builder).Finish();
}

absl::StatusOr<Graph> NodeAlone(const Graph& graph, NodeId id) {
  return NodeAlone(graph, id, [](const TensorType& type) { return type; });
}

absl::StatusOr<Graph> WrittenForm(const Graph& alone, int opset) {
  PLAIT_ASSIGN_OR_RETURN(const Graph expanded, ExpandNodes(alone, opset));
  GraphBuilder builder;
  GraphCopier copier(expanded, &builder);
  for (NodeId id = 0; id < expanded.node_count(); ++id) {
    PLAIT_ASSIGN_OR_RETURN(const LoweredNode lowered, LowerNode(expanded, id, opset));
    Node node = expanded.node(id);
    const int output_count = static_cast<int>(node.outputs.size());
    node.outputs.clear();
    node.inputs.clear();
    for (const LoweredNode::Input& input : lowered.inputs) {
      node.inputs.push_back(input.value.has_value()
                                ? builder.AddConstant(Constant::OfTensor(*input.value))
                                : copier.TensorOf(input.tensor));
    }
    node.attributes = MakeAttributes(lowered.attributes);
    PLAIT_ASSIGN_OR_RETURN(node, RaiseNode(std::move(node), opset, output_count, &builder));
    copier.CopyNodeAs(id, std::move(node));
  }
  copier.CopyOutputs();
  PLAIT_ASSIGN_OR_RETURN(const Graph raised, std::move(builder).Finish());
  return ExpandAtImport(raised);
}

}  // namespace plait
