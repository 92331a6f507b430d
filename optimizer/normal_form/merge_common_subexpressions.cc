#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "optimizer/ir/graph_copier.h"
#include "optimizer/normal_form/canonicalize.h"
#include "optimizer/ops/shared/op_spec.h"

namespace plait {
namespace {

// Two nodes with the same key compute the same values from the same tensors.
struct Key {
  OpKind op;
  absl::InlinedVector<TensorId, 4> inputs;
  size_t output_count;

  friend bool operator==(const Key&, const Key&) = default;
  template <typename H>
  friend H AbslHashValue(H state, const Key& key) {
    return H::combine(std::move(state), key.op, key.inputs, key.output_count);
  }
};

bool SameOutputs(const Graph& graph, const Node& a, const Node& b) {
  if (*a.attributes != *b.attributes) return false;
  for (size_t i = 0; i < a.outputs.size(); ++i) {
    if ((a.outputs[i] == kNoTensor) != (b.outputs[i] == kNoTensor)) return false;
    if (a.outputs[i] != kNoTensor && graph.type(a.outputs[i]) != graph.type(b.outputs[i])) {
      return false;
    }
  }
  return true;
}

bool NamesOutput(const Graph& graph, const Node& node) {
  return std::any_of(node.outputs.begin(), node.outputs.end(),
                     [&](TensorId t) { return t != kNoTensor && graph.is_output(t); });
}

// Per node the earlier one that computes the same; kNoNode where there is none. Value numbering in
// one pass: nodes stand in topological order, so twins among the inputs are known when a node is
// looked at, and its key names the first of them.
std::vector<NodeId> FindTwins(const Graph& graph) {
  std::vector<NodeId> twins(graph.node_count(), kNoNode);
  std::vector<TensorId> first(graph.tensor_count());  // that has the same value
  std::iota(first.begin(), first.end(), 0);
  absl::flat_hash_map<Key, absl::InlinedVector<NodeId, 1>> seen;
  for (NodeId id = 0; id < graph.node_count(); ++id) {
    const Node& node = graph.node(id);
    if (node.op == OpKind::kOpaque) continue;  // it may draw random numbers
    Key key{node.op, {}, node.outputs.size()};
    for (TensorId input : node.inputs) {
      key.inputs.push_back(input == kNoTensor ? kNoTensor : first[input]);
    }
    if (HasTraits(node.op, kCommutative)) std::sort(key.inputs.begin(), key.inputs.end());
    auto& equals = seen[std::move(key)];
    const auto twin = std::find_if(equals.begin(), equals.end(), [&](NodeId other) {
      return SameOutputs(graph, node, graph.node(other));
    });
    // Two graph outputs keep their own names, so the second one keeps its node.
    if (twin == equals.end() || NamesOutput(graph, node)) {
      equals.push_back(id);
      continue;
    }
    twins[id] = *twin;
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      if (node.outputs[i] != kNoTensor) first[node.outputs[i]] = graph.node(*twin).outputs[i];
    }
  }
  return twins;
}

}  // namespace

absl::StatusOr<Graph> MergeCommonSubexpressions(const Graph& graph, RuleCounts* counts) {
  const std::vector<NodeId> twins = FindTwins(graph);
  const int64_t merged = static_cast<int64_t>(
      twins.size() - static_cast<size_t>(std::count(twins.begin(), twins.end(), kNoNode)));
  if (merged == 0) return graph;
  (*counts)["merge_common_subexpressions"] += merged;
  GraphBuilder builder;
  GraphCopier copier(graph, &builder);
  for (NodeId id = 0; id < graph.node_count(); ++id) {
    if (twins[id] == kNoNode) {
      copier.CopyNode(id);
      continue;
    }
    const Node& node = graph.node(id);
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      if (node.outputs[i] == kNoTensor) continue;
      copier.Set(node.outputs[i], copier.TensorOf(graph.node(twins[id]).outputs[i]));
    }
  }
  copier.CopyOutputs();
  return std::move(builder).Finish();
}

}  // namespace plait
