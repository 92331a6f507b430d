#include "optimizer/rules/patterns/graph_queries.h"

#include <cmath>

#include "absl/algorithm/container.h"
#include "optimizer/rules/patterns/reasons.h"

namespace plait {

NodeId ProducerOf(const Graph& graph, NodeId node, int index, OpKind op) {
  const TensorId input = InputOr(graph, node, index);
  if (input == kNoTensor) return kNoNode;
  const NodeId producer = graph.tensor(input).producer;
  return producer != kNoNode && graph.node(producer).op == op ? producer : kNoNode;
}

NodeId SoleProducerOf(const Graph& graph, NodeId node, int index, OpKind op, Misses misses) {
  const NodeId producer = ProducerOf(graph, node, index, op);
  if (producer == kNoNode) return kNoNode;
  const TensorId input = graph.node(node).inputs[index];
  if (graph.has_single_use(input)) return producer;
  misses.Because([&] { return ReadersText(graph, input); });
  return kNoNode;
}

NodeId SoleUser(const Graph& graph, TensorId tensor, OpKind op) {
  if (!graph.has_single_use(tensor)) return kNoNode;
  const NodeId user = graph.users(tensor)[0];
  return graph.node(user).op == op ? user : kNoNode;
}

bool IsReadOnlyBy(const Graph& graph, TensorId tensor, absl::FunctionRef<bool(NodeId)> passes) {
  return !graph.is_output(tensor) && absl::c_all_of(graph.users(tensor), passes);
}

TensorId InputOr(const Graph& graph, NodeId node, int index) {
  const auto& inputs = graph.node(node).inputs;
  return index < static_cast<int>(inputs.size()) ? inputs[index] : kNoTensor;
}

std::optional<double> ScalarAt(const Graph& graph, NodeId node, int index) {
  if (InputOr(graph, node, index) == kNoTensor) return std::nullopt;
  const Tensor* value = graph.inline_constant(node, index);
  if (value == nullptr || value->elements() != 1) return std::nullopt;
  return value->AsDoubles()[0];
}

std::optional<std::vector<int64_t>> IntsAt(const Graph& graph, NodeId node, int index) {
  if (InputOr(graph, node, index) == kNoTensor) return std::nullopt;
  const Tensor* value = graph.inline_constant(node, index);
  // Lists of axes, pads and shapes are small enough to be inline.
  if (value == nullptr || !IsInteger(value->type().dtype)) return std::nullopt;
  return value->AsInt64s();
}

std::optional<ConstantSide> OneConstantInput(const Graph& graph, NodeId node) {
  if (graph.node(node).inputs.size() != 2) return std::nullopt;
  // Two constants are no case for a rule: FoldConstants has taken such a node away.
  const bool first = graph.constant(node, 0) != nullptr;
  const bool second = graph.constant(node, 1) != nullptr;
  if (first == second) return std::nullopt;
  return first ? ConstantSide{0, 1} : ConstantSide{1, 0};
}

bool NearlyEqual(double a, double b) {
  // 1e-6: eight roundings of float32, in which exporters compute factors such as 1 / sqrt(2).
  return std::abs(a - b) <= 1e-6 * std::max(std::abs(a), std::abs(b));
}

bool IsPerChannel(const TensorType& constant, int rank, int axis, int64_t channels) {
  if (constant.elements() == 1) return constant.rank() <= rank;
  if (constant.rank() > rank || constant.elements() != channels) return false;
  // Broadcasting aligns shapes at their ends. As many elements as channels, and the channels at
  // this position, leave 1 for every other dimension.
  const int position = constant.rank() - (rank - axis);
  return position >= 0 && constant.shape[position] == channels;
}

}  // namespace plait
