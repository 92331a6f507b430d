#include "gpu_worker/backends/groups/node_checks.h"

#include <algorithm>

#include "optimizer/ops/shared/axes.h"

namespace plait {

bool HasEnds(const Graph& graph, NodeId node) {
  const Node& n = graph.node(node);
  return n.op != OpKind::kOpaque && !n.outputs.empty() && n.outputs[0] != kNoTensor &&
         !n.inputs.empty() && n.inputs[0] != kNoTensor;
}

bool IsOneOf(const Graph& graph, NodeId node, std::initializer_list<OpKind> ops) {
  return std::find(ops.begin(), ops.end(), graph.node(node).op) != ops.end() &&
         HasEnds(graph, node);
}

bool AllFloat32(const Graph& graph, NodeId node) {
  const auto fits = [&](TensorId tensor) {
    return tensor == kNoTensor ||
           (graph.type(tensor).dtype == DataType::kFloat32 && graph.type(tensor).elements() > 0);
  };
  const Node& n = graph.node(node);
  for (size_t output = 0; output < n.outputs.size(); ++output) {
    if ((output == 0 || IsRead(graph, n, output)) && !fits(n.outputs[output])) return false;
  }
  return std::all_of(n.inputs.begin(), n.inputs.end(), fits);
}

// The importer has replaced auto_pad; a node that still has it could not be.
bool HasExplicitPadding(const Node& node) {
  const std::string auto_pad = node.attributes->String("auto_pad", "NOTSET");
  const std::vector<int64_t> pads = node.attributes->Ints("pads");
  return auto_pad == "NOTSET" &&
         std::all_of(pads.begin(), pads.end(), [](int64_t pad) { return pad >= 0; });
}

bool IsMovable(const Graph& graph, NodeId node) {
  const TensorType& type = graph.output_type(node);
  // Copies know elements of 1 to 8 bytes and keep up to eight axes in fixed arrays.
  return BytesOf(type.dtype) > 0 && BytesOf(type.dtype) <= 8 && type.elements() > 0 &&
         type.rank() <= 8 && graph.input_type(node, 0).elements() > 0;
}

bool HasInlineInputs(const Graph& graph, const Node& node, size_t first) {
  return std::all_of(node.inputs.begin() + first, node.inputs.end(), [&](TensorId input) {
    return input == kNoTensor || (graph.tensor(input).constant != nullptr &&
                                  graph.tensor(input).constant->inline_value() != nullptr);
  });
}

bool IsRead(const Graph& graph, const Node& node, size_t output) {
  if (output >= node.outputs.size() || node.outputs[output] == kNoTensor) return false;
  return !graph.users(node.outputs[output]).empty() || graph.is_output(node.outputs[output]);
}

bool HasOneOutput(const Node& node) {
  return std::all_of(node.outputs.begin() + 1, node.outputs.end(),
                     [](TensorId output) { return output == kNoTensor; });
}

bool HasOneReadOutput(const Graph& graph, const Node& node) {
  for (size_t output = 1; output < node.outputs.size(); ++output) {
    if (IsRead(graph, node, output)) return false;
  }
  return true;
}

std::optional<int> AxisOf(const Graph& graph, NodeId node, int otherwise) {
  const int rank = graph.input_type(node, 0).rank();
  const int64_t axis = NormalAxis(graph.node(node).attributes->Int("axis", otherwise), rank);
  return axis >= 0 && axis < rank ? std::optional<int>(static_cast<int>(axis)) : std::nullopt;
}

}  // namespace plait
