#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "optimizer/ir/graph_copier.h"
#include "optimizer/normal_form/canonicalize.h"
#include "optimizer/ops/shared/op_spec.h"

namespace plait {
namespace {

// Two nodes with the same key compute the same values.
struct Key {
  OpKind op;
  std::vector<TensorId> inputs;
  size_t output_count;
  auto operator<=>(const Key&) const = default;
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

}  // namespace

absl::StatusOr<Graph> MergeCommonSubexpressions(const Graph& graph, RuleCounts* counts) {
  // Value numbering in one pass: nodes stand in topological order, so twins among the inputs have
  // been merged when a node is looked at, and its key is written in tensors of the copy.
  GraphBuilder builder;
  GraphCopier copier(graph, &builder);
  std::map<Key, std::vector<NodeId>> seen;
  for (NodeId id = 0; id < graph.node_count(); ++id) {
    const Node& node = graph.node(id);
    if (node.op == OpKind::kOpaque) {  // it may draw random numbers
      copier.CopyNode(id);
      continue;
    }
    Key key{node.op, {}, node.outputs.size()};
    for (TensorId input : node.inputs) key.inputs.push_back(copier.TensorOf(input));
    if (HasTraits(node.op, kCommutative)) std::sort(key.inputs.begin(), key.inputs.end());
    std::vector<NodeId>& equals = seen[key];
    const auto twin = std::find_if(equals.begin(), equals.end(), [&](NodeId other) {
      return SameOutputs(graph, node, graph.node(other));
    });
    // Two graph outputs keep their own names, so the second one keeps its node.
    const bool names_output =
        std::any_of(node.outputs.begin(), node.outputs.end(),
                    [&](TensorId t) { return t != kNoTensor && graph.is_output(t); });
    if (twin == equals.end() || names_output) {
      copier.CopyNode(id);
      equals.push_back(id);
      continue;
    }
    ++(*counts)["merge_common_subexpressions"];
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      if (node.outputs[i] == kNoTensor) continue;
      copier.Set(node.outputs[i], copier.TensorOf(graph.node(*twin).outputs[i]));
    }
  }
  copier.CopyOutputs();
  return std::move(builder).Finish();
}

}  // namespace plait
