#include "optimizer/ir/graph_copier.h"

#include <memory>
#include <string>
#include <utility>

namespace plait {

GraphCopier::GraphCopier(const Graph& graph, GraphBuilder* builder)
    : graph_(graph),
      builder_(builder),
      copies_(graph.tensor_count(), kNoTensor),
      is_nameless_(graph.tensor_count()) {
  for (const TensorId input : graph.inputs()) {
    copies_[input] = builder->AddInput(graph.type(input), *graph.tensor(input).name);
  }
}

GraphCopier::GraphCopier(const Graph& graph, GraphBuilder* builder,
                         absl::Span<const TensorId> inputs)
    : graph_(graph),
      builder_(builder),
      copies_(graph.tensor_count(), kNoTensor),
      is_nameless_(graph.tensor_count()) {
  for (size_t i = 0; i < inputs.size(); ++i) copies_[graph.inputs()[i]] = inputs[i];
}

TensorId GraphCopier::TensorOf(TensorId id) {
  if (id == kNoTensor) return kNoTensor;
  const TensorInfo& tensor = graph_.tensor(id);
  // Late, so that constants that nobody reads any more are left behind.
  if (copies_[id] == kNoTensor && tensor.constant != nullptr) {
    copies_[id] = builder_->AddConstant(tensor.constant, NameOf(id));
  }
  return copies_[id];
}

void GraphCopier::Exchange(TensorId id, TensorId copy) {
  Set(id, copy);
  builder_->Rename(copy, *graph_.tensor(id).name);
}

Node GraphCopier::Detached(NodeId id) {
  Node node = graph_.node(id);
  for (TensorId& input : node.inputs) input = TensorOf(input);
  node.outputs.clear();
  return node;
}

void GraphCopier::CopyNodeAs(NodeId id, Node copy) {
  const Node& node = graph_.node(id);
  std::vector<TensorType> types;
  std::vector<std::string> names;
  // Not vector<bool>, which has no array to take a span of.
  const auto omitted = std::make_unique<bool[]>(node.outputs.size());
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    const TensorId output = node.outputs[i];
    omitted[i] = output == kNoTensor;
    types.push_back(omitted[i] ? TensorType{} : graph_.type(output));
    names.push_back(omitted[i] ? "" : NameOf(output));
  }
  const std::vector<TensorId> outputs = builder_->AddNode(
      std::move(copy), types, names, absl::MakeConstSpan(omitted.get(), names.size()));
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (node.outputs[i] != kNoTensor) copies_[node.outputs[i]] = outputs[i];
  }
}

void GraphCopier::CopyOutputs() {
  for (const TensorId output : graph_.outputs()) {
    const TensorId copy = TensorOf(output);
    const TensorInfo& tensor = builder_->tensor(copy);
    // Callers know a graph's inputs by name, so one that became an output keeps its own.
    const bool is_input = tensor.producer == kNoNode && tensor.constant == nullptr;
    if (!is_input) builder_->Rename(copy, *graph_.tensor(output).name);
    builder_->AddOutput(copy);
  }
}

}  // namespace plait
