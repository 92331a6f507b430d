#include <utility>

#include "base/status_macros.h"
#include "optimizer/ir/graph_copier.h"
#include "optimizer/normal_form/canonicalize.h"
#include "optimizer/ops/evaluation/constant_expression.h"

namespace plait {
namespace {

// The constants behind a node's inputs (null for omitted ones); false when an input is none.
bool ConstantInputs(const Graph& graph, NodeId id, std::vector<ConstantRef>* constants) {
  const Node& node = graph.node(id);
  if (node.op == OpKind::kOpaque) return false;
  for (TensorId input : node.inputs) {
    constants->push_back(input == kNoTensor ? nullptr : graph.tensor(input).constant);
    if (input != kNoTensor && constants->back() == nullptr) return false;
  }
  return true;
}

}  // namespace

absl::StatusOr<Graph> FoldConstants(const Graph& graph, RuleCounts* counts) {
  // Folding one node can make its readers foldable, so passes go on until one finds nothing: as
  // many as the longest chain of nodes over constants is long.
  Graph current = graph;
  for (bool changed = true; changed;) {
    changed = false;
    GraphBuilder builder;
    GraphCopier copier(current, &builder);
    for (NodeId node = 0; node < current.node_count(); ++node) {
      std::vector<ConstantRef> inputs;
      if (!ConstantInputs(current, node, &inputs)) {
        copier.CopyNode(node);
        continue;
      }
      changed = true;
      ++(*counts)["fold_constants"];
      const auto& outputs = current.node(node).outputs;
      for (size_t i = 0; i < outputs.size(); ++i) {
        if (outputs[i] == kNoTensor) continue;
        PLAIT_ASSIGN_OR_RETURN(
            ConstantRef folded,
            ApplyToConstants(current.node(node).op, current.node(node).attributes, inputs,
                             static_cast<int>(i), static_cast<int>(outputs.size())));
        copier.Set(outputs[i], builder.AddConstant(std::move(folded)));
      }
    }
    if (!changed) break;
    copier.CopyOutputs();
    PLAIT_ASSIGN_OR_RETURN(current, std::move(builder).Finish());
  }
  return current;
}

}  // namespace plait
