#include "optimizer/ops/shared/recurrent_layer.h"

#include <algorithm>
#include <utility>

#include "gpu_worker/backends/cuda/offers/cuda_family.h"
#include "gpu_worker/backends/cuda/offers/operands.h"
#include "gpu_worker/backends/groups/format_rows.h"
#include "gpu_worker/backends/groups/node_checks.h"
#include "optimizer/ops/shared/expansion.h"

namespace plait::cuda {
namespace {

using Layer = RecurrentLayerProblem;

RecurrentKind LayerKindOf(OpKind op) {
  if (op == OpKind::kLSTM) return kLstmKind;
  return op == OpKind::kGRU ? kGruKind : kRnnKind;
}

// W, R and B are read anew in each step, and lie where constants do.
bool HasConstantWeights(const Graph& graph, const Node& node) {
  for (const size_t index : {kRecurrentW, kRecurrentR, kRecurrentB}) {
    if (HasInput(node, index) && graph.tensor(node.inputs[index]).constant == nullptr) return false;
  }
  return true;
}

bool ReadsFloats(const Graph& graph, NodeId node) {
  const Node& n = graph.node(node);
  for (size_t i = 0; i < n.inputs.size(); ++i) {
    if (i == kRecurrentLengths || !HasInput(n, i)) continue;
    const TensorType& type = graph.type(n.inputs[i]);
    if (type.dtype != DataType::kFloat32 || type.elements() == 0) return false;
  }
  return true;
}

// Whether all sequences are as long as X, as far as that is known.
bool AreWhole(const Graph& graph, const Node& node, int64_t steps) {
  if (!HasInput(node, kRecurrentLengths)) return true;
  const ConstantRef& constant = graph.tensor(node.inputs[kRecurrentLengths]).constant;
  const Tensor* const lengths = constant == nullptr ? nullptr : constant->inline_value();
  if (lengths == nullptr) return false;
  const std::vector<int64_t> values = lengths->AsInt64s();
  return std::all_of(values.begin(), values.end(), [&](int64_t value) { return value == steps; });
}

// The function of an RNN's states, or tanh where the cells have ONNX's defaults. nullopt: others.
std::optional<Activation> LayerActivationOf(const RecurrentKind& kind,
                                            const RecurrentLayer& layer) {
  const auto first = layer.activations.front().function;
  const bool is_relu = kind.gates == 1 && first == RecurrentFunction::kRelu;
  for (size_t i = 0; i < layer.activations.size(); ++i) {
    const bool is_gate = kind.gates > 1 && static_cast<int64_t>(i) % kind.activations == 0;
    const RecurrentFunction of_state =
        is_relu ? RecurrentFunction::kRelu : RecurrentFunction::kTanh;
    const RecurrentFunction wanted = is_gate ? RecurrentFunction::kSigmoid : of_state;
    if (layer.activations[i].function != wanted) return std::nullopt;
  }
  return is_relu ? Activation::kRelu : Activation::kTanh;
}

// nullopt: no kernel has such a layer.
std::optional<Layer> LayerAt(const Graph& graph, NodeId node) {
  if (!IsOneOf(graph, node, {OpKind::kRNN, OpKind::kGRU, OpKind::kLSTM})) return std::nullopt;
  const Node& n = graph.node(node);
  for (const size_t index : {kRecurrentX, kRecurrentW, kRecurrentR}) {
    if (!HasInput(n, index)) return std::nullopt;
  }
  if (!ReadsFloats(graph, node) || !HasConstantWeights(graph, n) ||
      HasInput(n, kRecurrentPeepholes) || n.attributes->Int("input_forget", 0) != 0) {
    return std::nullopt;
  }
  std::vector<TensorType> types;
  for (const TensorId input : n.inputs) {
    types.push_back(input == kNoTensor ? TensorType{} : graph.type(input));
  }
  const RecurrentKind kind = LayerKindOf(n.op);
  const absl::StatusOr<RecurrentLayer> read = ReadRecurrentLayer(kind, *n.attributes, types);
  if (!read.ok() || read->batch_first || read->clip != 0 || !AreWhole(graph, n, read->steps)) {
    return std::nullopt;
  }
  const std::optional<Activation> activation = LayerActivationOf(kind, *read);
  if (!activation.has_value()) return std::nullopt;
  Layer layer{.steps = read->steps,
              .batch = read->batch,
              .input = read->input,
              .hidden = read->hidden,
              .bias = HasInput(n, kRecurrentB),
              .initial_h = HasInput(n, kRecurrentHidden),
              .initial_c = HasInput(n, kRecurrentCell),
              .activation = *activation,
              .y = IsRead(graph, n, 0),
              .y_h = IsRead(graph, n, 1),
              .y_c = IsRead(graph, n, 2)};
  layer.kind = n.op == OpKind::kLSTM  ? Layer::Kind::kLstm
               : n.op == OpKind::kGRU ? Layer::Kind::kGru
                                      : Layer::Kind::kRnn;
  if (read->is_reverse) layer.direction = Layer::Direction::kReverse;
  if (read->directions == 2) layer.direction = Layer::Direction::kBidirectional;
  layer.linear_before_reset =
      n.op == OpKind::kGRU && n.attributes->Int("linear_before_reset", 0) != 0;
  return layer;
}

std::vector<std::vector<NodeId>> GroupsOfRecurrentLayer(const Graph& graph, NodeId node) {
  if (!LayerAt(graph, node).has_value()) return {};
  return {{node}};
}

// States are no images, though Y has four axes.
std::optional<KernelProblem> ProblemOfRecurrentLayer(const Graph& graph, const Kernel& kernel) {
  const std::optional<MemoryLayout> layout = LayoutOf(graph, kernel);
  if (kernel.nodes.size() != 1 || layout != MemoryLayout::kNchw) return std::nullopt;
  const std::optional<Layer> layer = LayerAt(graph, kernel.nodes[0]);
  if (!layer.has_value()) return std::nullopt;
  const Node& node = graph.node(kernel.nodes[0]);
  const auto operand = [&](size_t index) {
    return OperandOf(graph, HasInput(node, index) ? node.inputs[index] : kNoTensor);
  };
  KernelProblem problem{.problem = *layer,
                        .inputs = {operand(kRecurrentX)},
                        .weights = operand(kRecurrentW),
                        .second_weights = operand(kRecurrentR),
                        .bias = operand(kRecurrentB)};
  if (layer->initial_h) problem.inputs.push_back(operand(kRecurrentHidden));
  if (layer->initial_c) problem.inputs.push_back(operand(kRecurrentCell));
  return problem;
}

}  // namespace

const CudaFamily kRecurrentLayerFamily = {
    .name = "recurrent_layer",
    .groups = GroupsOfRecurrentLayer,
    .rows = PlainRow,
    .problem = ProblemOfRecurrentLayer,
};

}  // namespace plait::cuda
