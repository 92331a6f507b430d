#include "optimizer/ir/common_part.h"

#include <algorithm>

namespace plait {
namespace {

bool AreSame(const ConstantRef& a, const ConstantRef& b) {
  if (a == b) return true;
  // Whether a value is at hand may decide what is done, though the value is equal.
  return a != nullptr && b != nullptr && a->fingerprint() == b->fingerprint() &&
         (a->inline_value() == nullptr) == (b->inline_value() == nullptr);
}

// Of a strictly increasing subsequence of greatest length, the places (C. Schensted, 1961): `ends`
// has the place of the smallest last element of one of each length.
std::vector<size_t> LongestIncreasing(absl::Span<const NodeId> values) {
  std::vector<size_t> ends;
  std::vector<size_t> before(values.size());
  for (size_t place = 0; place < values.size(); ++place) {
    const auto end = std::partition_point(
        ends.begin(), ends.end(), [&](size_t other) { return values[other] < values[place]; });
    before[place] = end == ends.begin() ? place : *(end - 1);
    if (end == ends.end()) {
      ends.push_back(place);
    } else {
      *end = place;
    }
  }
  std::vector<size_t> chain;
  for (size_t length = ends.size(), place = ends.empty() ? 0 : ends.back(); length > 0; --length) {
    chain.push_back(place);
    place = before[place];
  }
  return chain;
}

}  // namespace

NamedGraph::NamedGraph(const Graph& named) : graph(named) {
  tensors.reserve(graph.tensor_count());
  for (TensorId tensor = 0; tensor < graph.tensor_count(); ++tensor) {
    tensors.emplace(*graph.tensor(tensor).name, tensor);
  }
}

CommonPart::CommonPart(const NamedGraph& before, const Graph& after)
    : tensor_of_(before.graph.tensor_count(), kNoTensor),
      node_of_(before.graph.node_count(), kNoNode),
      is_same_node_(before.graph.node_count()),
      same_parts_(before.graph.tensor_count()) {
  for (TensorId tensor = 0; tensor < after.tensor_count(); ++tensor) {
    const auto found = before.tensors.find(*after.tensor(tensor).name);
    if (found != before.tensors.end()) tensor_of_[found->second] = tensor;
  }
  FindNodes(before.graph, after);
  KeepOrder();
  for (NodeId node = 0; node < before.graph.node_count(); ++node) {
    is_same_node_[node] = HasSameNode(before.graph, after, node);
  }
  for (TensorId tensor = 0; tensor < before.graph.tensor_count(); ++tensor) {
    same_parts_[tensor] = SameParts(before.graph, after, tensor);
  }
}

void CommonPart::FindNodes(const Graph& before, const Graph& after) {
  for (NodeId node = 0; node < before.node_count(); ++node) {
    for (const TensorId output : before.node(node).outputs) {
      if (output == kNoTensor) continue;
      if (tensor_of_[output] != kNoTensor) {
        node_of_[node] = after.tensor(tensor_of_[output]).producer;
      }
      break;
    }
  }
}

// Whoever compares ids must find the same order. The builder moves few nodes, if any, so that most
// remain when those that moved are given up.
void CommonPart::KeepOrder() {
  std::vector<NodeId> found;
  std::vector<NodeId> nodes;
  for (NodeId node = 0; node < static_cast<NodeId>(node_of_.size()); ++node) {
    if (node_of_[node] == kNoNode) continue;
    nodes.push_back(node);
    found.push_back(node_of_[node]);
  }
  const auto is_above = [](NodeId a, NodeId b) { return a >= b; };
  if (std::adjacent_find(found.begin(), found.end(), is_above) == found.end()) return;
  std::fill(node_of_.begin(), node_of_.end(), kNoNode);
  for (const size_t place : LongestIncreasing(found)) node_of_[nodes[place]] = found[place];
}

bool CommonPart::HasSameNode(const Graph& before, const Graph& after, NodeId node) const {
  if (node_of_[node] == kNoNode) return false;
  const Node& a = before.node(node);
  const Node& b = after.node(node_of_[node]);
  const auto are_same = [&](TensorId of_a, TensorId of_b) {
    return of_a == kNoTensor ? of_b == kNoTensor : of_b != kNoTensor && tensor_of_[of_a] == of_b;
  };
  const auto all_same = [&](const auto& of_a, const auto& of_b) {
    return std::equal(of_a.begin(), of_a.end(), of_b.begin(), of_b.end(), are_same);
  };
  return a.op == b.op && all_same(a.inputs, b.inputs) && all_same(a.outputs, b.outputs) &&
         (a.attributes == b.attributes || *a.attributes == *b.attributes);
}

uint8_t CommonPart::SameParts(const Graph& before, const Graph& after, TensorId tensor) const {
  const TensorId now = tensor_of_[tensor];
  if (now == kNoTensor) return 0;
  const auto are_same = [&](NodeId of_a, NodeId of_b) {
    return of_a == kNoNode ? of_b == kNoNode : of_b != kNoNode && node_of_[of_a] == of_b;
  };
  const TensorInfo& a = before.tensor(tensor);
  const TensorInfo& b = after.tensor(now);
  uint8_t same = 0;
  if (a.type == b.type) same |= GraphReads::kType;
  if (are_same(a.producer, b.producer) && plait::AreSame(a.constant, b.constant)) {
    same |= GraphReads::kSource;
  }
  const absl::Span<const NodeId> users_a = before.users(tensor);
  const absl::Span<const NodeId> users_b = after.users(now);
  if (before.is_output(tensor) == after.is_output(now) &&
      std::equal(users_a.begin(), users_a.end(), users_b.begin(), users_b.end(), are_same)) {
    same |= GraphReads::kUses;
  }
  return same;
}

}  // namespace plait
