#include "gpu_worker/backends/cpu/offers/integer_sum.h"

#include <algorithm>

#include "gpu_worker/backends/groups/node_checks.h"

namespace plait {
namespace {

// The DequantizeLinear that alone gives the Add its other input; kNoNode when there is none.
NodeId AddendOf(const Graph& graph, NodeId add, NodeId own) {
  for (const int index : {0, 1}) {
    const NodeId producer = graph.producer(add, index);
    if (producer == kNoNode || producer == own) continue;
    const Node& node = graph.node(producer);
    if (node.op != OpKind::kDequantizeLinear || OnlyReader(graph, producer) != add) continue;
    if (graph.tensor(node.inputs[0]).constant != nullptr) continue;
    if (HasKnownQuantization(graph, node)) return producer;
  }
  return kNoNode;
}

bool HasOneShape(const Graph& graph, TensorId a, TensorId b, TensorId c) {
  const Shape& shape = graph.type(a).shape;
  return graph.type(b).shape == shape && graph.type(c).shape == shape;
}

// Sets what follows the Add.
bool ReadResult(const Graph& graph, NodeId add, IntegerSum* sum) {
  NodeId reader = OnlyReader(graph, add);
  const bool is_bound = reader != kNoNode && IsOneOf(graph, reader, {OpKind::kRelu, OpKind::kClip});
  const NodeId bound = is_bound ? reader : kNoNode;
  if (is_bound) reader = OnlyReader(graph, bound);
  if (reader == kNoNode || graph.node(reader).op != OpKind::kQuantizeLinear) return false;
  const Node& quantize = graph.node(reader);
  if (quantize.inputs[0] != graph.node(is_bound ? bound : add).outputs[0]) return false;
  if (!HasKnownQuantization(graph, quantize)) return false;
  sum->result_by = QuantizationOf(graph, quantize);
  if (!(sum->result_by.scale > 0)) return false;
  sum->result = quantize.outputs[0];
  sum->nodes.push_back(reader);
  if (!is_bound) return true;
  const std::optional<IntegerLimits> limits = LimitsOf(graph, bound, reader);
  if (!limits) return false;
  sum->limits = *limits;
  sum->nodes.push_back(bound);
  return true;
}

}  // namespace

std::optional<IntegerSum> SumBehind(const Graph& graph, NodeId root) {
  if (graph.node(root).op != OpKind::kQLinearConv) return std::nullopt;
  const NodeId dequantize = DequantizeBehind(graph, root);
  if (dequantize == kNoNode) return std::nullopt;
  const NodeId add = OnlyReader(graph, dequantize);
  if (add == kNoNode || graph.node(add).op != OpKind::kAdd) return std::nullopt;
  const NodeId other = AddendOf(graph, add, dequantize);
  if (other == kNoNode) return std::nullopt;
  IntegerSum sum;
  sum.root = root;
  sum.addend = graph.node(other).inputs[0];
  sum.root_by = QuantizationOf(graph, graph.node(dequantize));
  sum.addend_by = QuantizationOf(graph, graph.node(other));
  sum.nodes = {root, dequantize, other, add};
  if (!ReadResult(graph, add, &sum)) return std::nullopt;
  if (!HasOneShape(graph, graph.node(root).outputs[0], sum.addend, sum.result)) {
    return std::nullopt;
  }
  std::sort(sum.nodes.begin(), sum.nodes.end());
  return sum;
}

std::vector<IntegerSum> SumsFrom(const Graph& graph, NodeId node) {
  std::vector<NodeId> roots = {node};
  if (graph.node(node).op == OpKind::kDequantizeLinear) {
    roots.clear();
    const NodeId add = OnlyReader(graph, node);
    for (const int index : {0, 1}) {
      if (add == kNoNode || graph.node(add).op != OpKind::kAdd) break;
      const NodeId own = graph.producer(add, index);
      const NodeId root = own == kNoNode ? kNoNode : graph.producer(own, 0);
      if (root != kNoNode) roots.push_back(root);
    }
  }
  std::vector<IntegerSum> sums;
  for (const NodeId root : roots) {
    std::optional<IntegerSum> sum = SumBehind(graph, root);
    if (sum && sum->nodes.front() == node) sums.push_back(*std::move(sum));
  }
  return sums;
}

std::optional<IntegerSum> ParseSum(const Graph& graph, const std::vector<NodeId>& nodes) {
  for (IntegerSum& sum : SumsFrom(graph, nodes.front())) {
    if (sum.nodes == nodes) return std::move(sum);
  }
  return std::nullopt;
}

}  // namespace plait
