#include "optimizer/kernels/kernel.h"

#include <algorithm>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace plait {

KernelSettings::KernelSettings(const Graph& graph, absl::Span<const NodeId> nodes) : graph_(graph) {
  for (const NodeId id : nodes) {
    const Node& node = graph.node(id);
    if (node.op == OpKind::kResize) of_resizes_.insert(node.inputs.begin() + 1, node.inputs.end());
  }
}

bool KernelSettings::Has(TensorId tensor) const {
  const Constant& constant = *graph_.tensor(tensor).constant;
  if (constant.inline_value() == nullptr) return false;
  return !IsFloat(constant.type().dtype) || constant.type().elements() <= 1 ||
         of_resizes_.contains(tensor);
}

std::vector<TensorId> InputsOf(const Graph& graph, absl::Span<const NodeId> nodes) {
  absl::flat_hash_set<TensorId> known;
  for (NodeId node : nodes) {
    for (TensorId output : graph.node(node).outputs) known.insert(output);
  }
  std::vector<TensorId> inputs;
  for (NodeId node : nodes) {
    for (TensorId input : graph.node(node).inputs) {
      if (input == kNoTensor || graph.tensor(input).constant != nullptr) continue;
      if (known.insert(input).second) inputs.push_back(input);
    }
  }
  return inputs;
}

// A value that only members read never exists in memory, and is none.
std::vector<TensorId> OutputsOf(const Graph& graph, absl::Span<const NodeId> nodes) {
  const absl::flat_hash_set<NodeId> members(nodes.begin(), nodes.end());
  std::vector<TensorId> outputs;
  for (NodeId node : nodes) {
    for (TensorId output : graph.node(node).outputs) {
      if (output == kNoTensor) continue;
      const auto users = graph.users(output);
      const bool leaves = graph.is_output(output) ||
                          std::any_of(users.begin(), users.end(),
                                      [&](NodeId user) { return !members.contains(user); });
      if (leaves) outputs.push_back(output);
    }
  }
  return outputs;
}

bool HasMeasurableLayer(const Graph& graph, NodeId node) {
  const Node& layer = graph.node(node);
  const bool multiplies =
      layer.op == OpKind::kConv || layer.op == OpKind::kMatMul || layer.op == OpKind::kGemm;
  return multiplies && graph.tensor(layer.inputs[1]).constant != nullptr;
}

// Names are counted: i0, i1 for inputs, c0 for constants, t0 for values. Synthetic constants are
// numbered too, so that two of one type stay two, with different contents.
Graph KernelGraph(const Graph& graph, absl::Span<const NodeId> nodes) {
  const KernelSettings settings(graph, nodes);
  GraphBuilder builder;
  absl::flat_hash_map<TensorId, TensorId> copies;
  int constant_count = 0;
  int synthetic_count = 0;
  int tensor_count = 0;
  for (TensorId input : InputsOf(graph, nodes)) {
    copies[input] = builder.AddInput(graph.type(input), absl::StrCat("i", copies.size()));
  }
  const auto copy_of = [&](TensorId id) {
    const auto found = copies.find(id);
    if (found != copies.end()) return found->second;
    // Everything else that the set reads is a constant at its first use.
    ConstantRef constant = graph.tensor(id).constant;
    if (!settings.Has(id)) {
      constant = Constant::OfSynthetic(constant->type(), static_cast<uint64_t>(synthetic_count++));
    }
    const TensorId copy =
        builder.AddConstant(std::move(constant), absl::StrCat("c", constant_count++));
    copies[id] = copy;
    return copy;
  };
  for (NodeId id : nodes) {
    const Node& node = graph.node(id);
    Node copy{
        .op = node.op, .attributes = node.attributes, .inputs = {}, .outputs = {}, .name = nullptr};
    for (TensorId input : node.inputs) {
      copy.inputs.push_back(input == kNoTensor ? kNoTensor : copy_of(input));
    }
    std::vector<TensorType> types;
    std::vector<std::string> names;
    absl::InlinedVector<bool, 4> omitted;
    for (TensorId output : node.outputs) {
      omitted.push_back(output == kNoTensor);
      types.push_back(output == kNoTensor ? TensorType() : graph.type(output));
      names.push_back(output == kNoTensor ? "" : absl::StrCat("t", tensor_count++));
    }
    const std::vector<TensorId> outputs = builder.AddNode(std::move(copy), types, names, omitted);
    for (size_t i = 0; i < outputs.size(); ++i) copies[node.outputs[i]] = outputs[i];
  }
  for (TensorId output : OutputsOf(graph, nodes)) builder.AddOutput(copies.at(output));
  absl::StatusOr<Graph> kernel = std::move(builder).Finish();
  // The nodes came in the graph's order, so there is no cycle.
  PLAIT_CHECK(kernel.ok());
  return *std::move(kernel);
}

}  // namespace plait
