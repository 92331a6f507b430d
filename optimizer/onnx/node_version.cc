#include "optimizer/onnx/node_version.h"

#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/limits.h"
#include "base/status_macros.h"

namespace plait {

namespace {

// Whether files of `opset` have the operator at all.
absl::Status CheckHasOperator(const OpSpec& spec, int opset) {
  if (opset < spec.since_opset) {
    return absl::UnimplementedError(
        absl::StrCat("the operator exists from opset ", spec.since_opset, " on"));
  }
  if (opset >= spec.removed_opset) {
    return absl::UnimplementedError(
        absl::StrCat("the operator exists before opset ", spec.removed_opset, " only"));
  }
  return absl::OkStatus();
}

// The node as an operator's raise and lower see it: presence, types and inline values of its
// inputs, no tensors. `Tensors` is a Graph or a GraphBuilder.
template <typename Tensors>
VersionedNode MakeVersioned(const Node& node, int opset, int output_count, const Tensors& tensors) {
  VersionedNode versioned;
  versioned.opset = opset;
  versioned.attributes = *node.attributes;
  versioned.output_count = output_count;
  for (const TensorId id : node.inputs) {
    const Tensor* value = nullptr;
    if (id != kNoTensor && tensors.tensor(id).constant != nullptr) {
      value = tensors.tensor(id).constant->inline_value();
    }
    versioned.present.push_back(id != kNoTensor);
    versioned.constants.push_back(value == nullptr ? std::nullopt : std::make_optional(*value));
    versioned.input_types.push_back(id == kNoTensor ? TensorType{} : tensors.tensor(id).type);
  }
  return versioned;
}

// What became of the inputs of `before`: the tensor where the input is still what it was.
std::vector<LoweredNode::Input> InputsAfter(const Node& node, const VersionedNode& before,
                                            VersionedNode* after) {
  std::vector<LoweredNode::Input> inputs(after->present.size());
  for (size_t index = 0; index < inputs.size(); ++index) {
    if (!after->present[index]) continue;
    const bool had_tensor = index < before.present.size() && before.present[index];
    // An input whose value was changed, such as axes made positive, is a new constant.
    if (had_tensor && before.constants[index] == after->constants[index]) {
      inputs[index].tensor = node.inputs[index];
    } else {
      inputs[index].value = std::move(after->constants[index]);
    }
  }
  while (!inputs.empty() && inputs.back().tensor == kNoTensor && !inputs.back().value) {
    inputs.pop_back();
  }
  return inputs;
}

}  // namespace

absl::StatusOr<Node> RaiseNode(Node node, int opset, int output_count, GraphBuilder* builder) {
  const OpSpec& spec = SpecOf(node.op);
  PLAIT_RETURN_IF_ERROR(CheckHasOperator(spec, opset));
  if (spec.raise == nullptr) return node;
  const VersionedNode before = MakeVersioned(node, opset, output_count, *builder);
  VersionedNode after = before;
  PLAIT_RETURN_IF_ERROR(spec.raise(&after));
  std::vector<LoweredNode::Input> inputs = InputsAfter(node, before, &after);
  node.inputs.clear();
  for (LoweredNode::Input& input : inputs) {
    node.inputs.push_back(input.value.has_value()
                              ? builder->AddConstant(Constant::OfTensor(*std::move(input.value)))
                              : input.tensor);
  }
  node.attributes = MakeAttributes(std::move(after.attributes));
  return node;
}

absl::StatusOr<LoweredNode> LowerNode(const Graph& graph, NodeId id, int opset) {
  const Node& node = graph.node(id);
  const OpSpec& spec = SpecOf(node.op);
  PLAIT_RETURN_IF_ERROR(CheckHasOperator(spec, opset));
  const int output_count = static_cast<int>(node.outputs.size());
  const VersionedNode before = MakeVersioned(node, opset, output_count, graph);
  VersionedNode after = before;
  if (spec.lower != nullptr && opset < kOpsetMax) PLAIT_RETURN_IF_ERROR(spec.lower(&after));
  LoweredNode lowered;
  lowered.inputs = InputsAfter(node, before, &after);
  lowered.attributes = std::move(after.attributes);
  return lowered;
}

}  // namespace plait
