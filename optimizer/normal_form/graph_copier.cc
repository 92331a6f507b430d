#include "optimizer/normal_form/graph_copier.h"

#include <utility>

namespace plait {

GraphCopier::GraphCopier(const Graph& graph)
    : graph_(graph), copies_(graph.tensor_count(), kNoTensor) {
  for (TensorId input : graph.inputs()) {
    copies_[input] = builder_.AddInput(graph.type(input), *graph.tensor(input).name);
  }
}

TensorId GraphCopier::Map(TensorId tensor) {
  if (tensor == kNoTensor) return kNoTensor;
  if (copies_[tensor] == kNoTensor && graph_.tensor(tensor).constant != nullptr) {
    copies_[tensor] =
        builder_.AddConstant(graph_.tensor(tensor).constant, *graph_.tensor(tensor).name);
  }
  return copies_[tensor];
}

void GraphCopier::Copy(NodeId id) {
  Node node = graph_.node(id);
  for (TensorId& input : node.inputs) input = Map(input);
  std::vector<TensorType> types;
  std::vector<std::string> names;
  absl::InlinedVector<bool, 4> omitted;
  for (TensorId output : node.outputs) {
    omitted.push_back(output == kNoTensor);
    types.push_back(output == kNoTensor ? TensorType{} : graph_.type(output));
    names.push_back(output == kNoTensor ? "" : *graph_.tensor(output).name);
  }
  const auto outputs = graph_.node(id).outputs;
  node.outputs.clear();
  const auto copies = builder_.AddNode(std::move(node), types, names, omitted);
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i] != kNoTensor) copies_[outputs[i]] = copies[i];
  }
}

absl::StatusOr<Graph> GraphCopier::Finish() && {
  for (TensorId output : graph_.outputs()) {
    const TensorId copy = Map(output);
    // An output keeps its name, unless what it became is a graph input or another output.
    const bool renamable =
        builder_.tensor(copy).producer != kNoNode || builder_.tensor(copy).constant != nullptr;
    if (renamable) builder_.Rename(copy, *graph_.tensor(output).name);
    builder_.AddOutput(copy);
  }
  return std::move(builder_).Finish();
}

}  // namespace plait
