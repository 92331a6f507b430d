#include "gpu_worker/backends/groups/elementwise_group.h"

#include <algorithm>

#include "absl/container/flat_hash_set.h"
#include "gpu_worker/backends/groups/elementwise_ops.h"
#include "gpu_worker/backends/groups/integer_checks.h"
#include "optimizer/kernels/kernel.h"

namespace plait {
namespace {

// Eight dimensions after merging is more than any model has; programs keep them in fixed arrays.
constexpr int kElementwiseRankMax = 8;

bool InputsHaveTypes(const Graph& graph, const Node& node, size_t first, ElementTypes types) {
  return std::all_of(node.inputs.begin() + first, node.inputs.end(), [&](TensorId input) {
    return input != kNoTensor && Contains(types, graph.type(input).dtype);
  });
}

bool HasScalarBounds(const Graph& graph, const Node& node) {
  for (size_t i = 1; i < node.inputs.size(); ++i) {
    if (node.inputs[i] == kNoTensor) continue;
    const ConstantRef& bound = graph.tensor(node.inputs[i]).constant;
    if (bound == nullptr || bound->inline_value() == nullptr) return false;
    if (bound->type().dtype != DataType::kFloat32 || bound->type().elements() != 1) return false;
  }
  return graph.type(node.inputs[0]).dtype == DataType::kFloat32;
}

bool HasConstantStatistics(const Graph& graph, const Node& node) {
  if (node.inputs.size() != 5 || graph.type(node.inputs[0]).rank() < 2) return false;
  return std::all_of(node.inputs.begin() + 1, node.inputs.end(),
                     [&](TensorId input) { return graph.tensor(input).constant != nullptr; });
}

bool OperandTypesFit(const Graph& graph, const Node& node) {
  const std::optional<ElementwiseOp> op = FindElementwiseOp(node.op);
  if (!op.has_value()) return false;
  // Clip omits bounds that it has not.
  if (node.op == OpKind::kClip) return HasScalarBounds(graph, node);
  if (IsQuantization(node.op)) return HasKnownQuantization(graph, node);
  // The condition of Where is bool, whatever it chooses from.
  const size_t first = node.op == OpKind::kWhere ? 1 : 0;
  if (!InputsHaveTypes(graph, node, first, op->types)) return false;
  return node.op != OpKind::kBatchNormalization || HasConstantStatistics(graph, node);
}

// A float is rounded once on its way to 16 bits; an integer would be twice, if it went by a float.
bool ResultTypeFits(const Graph& graph, const Node& node) {
  const DataType dtype = graph.type(node.outputs[0]).dtype;
  const ElementTypes types = FindElementwiseOp(node.op)->types;
  if (types == ElementTypes::kCastable && IsHalf(dtype)) {
    return IsFloat(graph.type(node.inputs[0]).dtype);
  }
  return Contains(types == ElementTypes::kInteger ? types : ElementTypes::kStorable, dtype);
}

// True when `tensor` is computed from something that `group` computes. Producers below the group's
// first node cannot depend on it, because nodes stand in topological order.
bool DependsOn(const Graph& graph, TensorId tensor, const std::vector<NodeId>& group) {
  std::vector<NodeId> pending;
  absl::flat_hash_set<NodeId> seen;
  const auto visit = [&](TensorId input) {
    if (input == kNoTensor) return;
    const NodeId producer = graph.tensor(input).producer;
    if (producer >= group.front() && seen.insert(producer).second) pending.push_back(producer);
  };
  visit(tensor);
  while (!pending.empty()) {
    const NodeId node = pending.back();
    pending.pop_back();
    if (std::binary_search(group.begin(), group.end(), node)) return true;
    for (const TensorId input : graph.node(node).inputs) visit(input);
  }
  return false;
}

bool CanJoin(const Graph& graph, const std::vector<NodeId>& group, NodeId node) {
  if (!IsElementwise(graph, node)) return false;
  if (graph.output_type(node).shape != graph.output_type(group.front()).shape) return false;
  for (const TensorId input : graph.node(node).inputs) {
    if (input == kNoTensor) continue;
    const NodeId producer = graph.tensor(input).producer;
    if (producer == kNoNode || std::binary_search(group.begin(), group.end(), producer)) continue;
    if (DependsOn(graph, input, group)) return false;
  }
  return true;
}

// What a program can hold in registers and in the caches.
bool WithinBounds(const Graph& graph, const std::vector<NodeId>& group) {
  absl::flat_hash_set<TensorId> operands;
  for (const NodeId node : group) {
    for (const TensorId input : graph.node(node).inputs) {
      const bool inner = input == kNoTensor || std::binary_search(group.begin(), group.end(),
                                                                  graph.tensor(input).producer);
      if (!inner) operands.insert(input);
    }
  }
  return group.size() <= kElementwiseNodesMax && operands.size() <= kElementwiseOperandsMax &&
         OutputsOf(graph, group).size() <= kElementwiseResultsMax;
}

}  // namespace

bool IsElementwise(const Graph& graph, NodeId node) {
  const Node& n = graph.node(node);
  if (n.outputs.size() != 1 || n.inputs.empty() || !OperandTypesFit(graph, n)) return false;
  if (n.inputs.size() > kElementwiseOperandsMax) return false;
  const TensorType& type = graph.output_type(node);
  if (!ResultTypeFits(graph, n)) return false;
  return type.rank() <= kElementwiseRankMax && type.elements() > 0;
}

// From `node` along users, the one with the lowest id first. In a = Relu(x), b = Exp(a), c =
// MatMul(a, w), d = Add(b, c) the group of a takes b; d is refused, as c comes between: a kernel
// that holds a and d would wait for c, which waits for a.
std::vector<NodeId> GrowElementwiseGroup(const Graph& graph, NodeId node,
                                         bool (*may_join)(const Graph&, NodeId), int results_max) {
  std::vector<NodeId> group = {node};
  std::vector<NodeId> best = group;
  absl::flat_hash_set<NodeId> refused;
  while (group.size() < kElementwiseNodesMax) {
    NodeId next = kNoNode;
    for (const NodeId member : group) {
      for (const NodeId user : graph.users(graph.node(member).outputs[0])) {
        if (std::binary_search(group.begin(), group.end(), user) || refused.contains(user))
          continue;
        if (next == kNoNode || user < next) next = user;
      }
    }
    if (next == kNoNode) break;
    std::vector<NodeId> larger = group;
    larger.insert(std::upper_bound(larger.begin(), larger.end(), next), next);
    if (may_join(graph, next) && CanJoin(graph, group, next) && WithinBounds(graph, larger)) {
      group = std::move(larger);
      if (static_cast<int>(OutputsOf(graph, group).size()) <= results_max) best = group;
    } else {
      refused.insert(next);
    }
  }
  return best;
}

// For plans from anywhere: whether members hang together is of no matter to the kernel, which
// computes whatever it is given in order.
bool IsElementwiseGroup(const Graph& graph, absl::Span<const NodeId> nodes) {
  if (nodes.empty()) return false;
  const std::vector<NodeId> group(nodes.begin(), nodes.end());
  if (!std::is_sorted(group.begin(), group.end()) || !WithinBounds(graph, group)) return false;
  return std::all_of(group.begin(), group.end(), [&](NodeId node) {
    return IsElementwise(graph, node) &&
           graph.output_type(node).shape == graph.output_type(group.front()).shape;
  });
}

}  // namespace plait
