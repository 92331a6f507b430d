#include <algorithm>
#include <utility>

#include "base/status_macros.h"
#include "optimizer/ir/graph_copier.h"
#include "optimizer/normal_form/canonicalize.h"
#include "optimizer/ops/evaluation/constant_expression.h"

namespace plait {
namespace {

// The constants that the copy of a node would read (null for omitted ones); false when an input is
// none.
bool ConstantInputs(const Node& node, const GraphBuilder& builder,
                    std::vector<ConstantRef>* constants) {
  if (node.op == OpKind::kOpaque) return false;
  for (TensorId input : node.inputs) {
    constants->push_back(input == kNoTensor ? nullptr : builder.tensor(input).constant);
    if (input != kNoTensor && constants->back() == nullptr) return false;
  }
  return true;
}

bool IsFoldable(const Graph& graph, const Node& node) {
  if (node.op == OpKind::kOpaque) return false;
  return std::all_of(node.inputs.begin(), node.inputs.end(), [&](TensorId input) {
    return input == kNoTensor || graph.tensor(input).constant != nullptr;
  });
}

// One for each output, null for those that are omitted; none where they may not be folded.
absl::StatusOr<std::vector<ConstantRef>> Fold(const Node& node,
                                              const std::vector<ConstantRef>& inputs,
                                              absl::Span<const TensorId> outputs) {
  std::vector<ConstantRef> folded(outputs.size());
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i] == kNoTensor) continue;
    absl::StatusOr<ConstantRef> constant = ApplyToConstants(
        node.op, node.attributes, inputs, static_cast<int>(i), static_cast<int>(outputs.size()));
    if (absl::IsResourceExhausted(constant.status())) return std::vector<ConstantRef>();
    PLAIT_ASSIGN_OR_RETURN(folded[i], std::move(constant));
  }
  return folded;
}

}  // namespace

absl::StatusOr<Graph> FoldConstants(const Graph& graph, RuleCounts* counts) {
  // Mostly there is nothing to fold, and then nothing to copy.
  const bool is_folded = std::none_of(graph.nodes().begin(), graph.nodes().end(),
                                      [&](const Node& node) { return IsFoldable(graph, node); });
  if (is_folded) return graph;
  // One pass: nodes stand in topological order, so what a node reads has been folded before it.
  GraphBuilder builder;
  GraphCopier copier(graph, &builder);
  for (NodeId id = 0; id < graph.node_count(); ++id) {
    const Node node = copier.Detached(id);
    std::vector<ConstantRef> inputs;
    if (!ConstantInputs(node, builder, &inputs)) {
      copier.CopyNode(id);
      continue;
    }
    PLAIT_ASSIGN_OR_RETURN(const std::vector<ConstantRef> folded,
                           Fold(node, inputs, graph.node(id).outputs));
    if (folded.empty()) {
      copier.CopyNode(id);
      continue;
    }
    ++(*counts)["fold_constants"];
    for (size_t i = 0; i < folded.size(); ++i) {
      if (folded[i] == nullptr) continue;
      copier.Set(graph.node(id).outputs[i], builder.AddConstant(folded[i]));
    }
  }
  copier.CopyOutputs();
  return std::move(builder).Finish();
}

}  // namespace plait
