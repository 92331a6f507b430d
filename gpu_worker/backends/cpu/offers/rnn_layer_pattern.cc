#include "gpu_worker/backends/cpu/offers/rnn_layer_pattern.h"

#include <utility>
#include <vector>

#include "gpu_worker/backends/groups/node_checks.h"

namespace plait {
namespace {

RecurrentKind KindOf(OpKind op) {
  if (op == OpKind::kLSTM) return kLstmKind;
  return op == OpKind::kGRU ? kGruKind : kRnnKind;
}

bool HasInput(const Node& node, size_t index) {
  return index < node.inputs.size() && node.inputs[index] != kNoTensor;
}

// A thread that waits for the others costs what half of that does.
constexpr int64_t kStepFlopsMin = int64_t{1} << 18;

// Weights and biases are packed and added up when the kernel is loaded.
bool HasConstantWeights(const Graph& graph, const Node& node) {
  for (const size_t index : {kRecurrentW, kRecurrentR, kRecurrentB, kRecurrentPeepholes}) {
    if (HasInput(node, index) && graph.tensor(node.inputs[index]).constant == nullptr) return false;
  }
  return true;
}

// The lengths of sequences are the only integers.
bool HasFloats(const Graph& graph, const Node& node) {
  const auto is_float = [&](TensorId tensor) {
    return graph.type(tensor).dtype == DataType::kFloat32 && graph.type(tensor).elements() > 0;
  };
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    if (!HasInput(node, i) || is_float(node.inputs[i])) continue;
    if (i != kRecurrentLengths || graph.type(node.inputs[i]).dtype != DataType::kInt32)
      return false;
  }
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    if (IsRead(graph, node, i) && !is_float(node.outputs[i])) return false;
  }
  return true;
}

}  // namespace

std::optional<RnnLayer> RnnLayerAt(const Graph& graph, NodeId node) {
  const Node& n = graph.node(node);
  if (n.op != OpKind::kRNN && n.op != OpKind::kGRU && n.op != OpKind::kLSTM) return std::nullopt;
  if (n.inputs.size() < 3) return std::nullopt;
  for (const size_t index : {kRecurrentX, kRecurrentW, kRecurrentR}) {
    if (!HasInput(n, index)) return std::nullopt;
  }
  if (!HasFloats(graph, n) || !HasConstantWeights(graph, n)) return std::nullopt;
  std::vector<TensorType> types;
  for (const TensorId input : n.inputs) {
    types.push_back(input == kNoTensor ? TensorType{} : graph.type(input));
  }
  const RecurrentKind kind = KindOf(n.op);
  absl::StatusOr<RecurrentLayer> layer = ReadRecurrentLayer(kind, *n.attributes, types);
  if (!layer.ok()) return std::nullopt;
  if (layer->steps == 0 || layer->batch == 0) return std::nullopt;
  return RnnLayer{kind, *std::move(layer)};
}

int64_t StepFlops(const RnnLayer& rnn) {
  return 2 * rnn.kind.gates * rnn.layer.batch * rnn.layer.hidden * rnn.layer.hidden;
}

bool MeetsInSteps(const RnnLayer& layer) { return StepFlops(layer) >= kStepFlopsMin; }

bool DividesDirections(const RnnLayer& rnn) {
  return rnn.layer.directions == 2 && !MeetsInSteps(rnn);
}

}  // namespace plait
