#include "optimizer/onnx/expand_nodes.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "optimizer/ir/graph_copier.h"
#include "optimizer/onnx/node_version.h"
#include "optimizer/ops/shared/op_spec.h"

namespace plait {

namespace {

// An expansion may use operators that have to be expanded themselves (Swish, Sigmoid); deeper
// chains do not exist.
constexpr int kExpansionRoundsMax = 8;

std::string LabelOf(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  if (node.name != nullptr && !node.name->empty()) return *node.name;
  return absl::StrCat(OpKindName(node.op), " of '", *graph.tensor(node.outputs[0]).name, "'");
}

absl::Status CannotExpress(const Graph& graph, NodeId id, int opset, const absl::Status& why) {
  const OpSpec& spec = SpecOf(graph.node(id).op);
  return absl::InvalidArgumentError(absl::StrCat(
      LabelOf(graph, id), ": opset ", opset, " cannot express ", OpKindName(spec.kind), ": ",
      why.message(), " (export to opset ", std::max(spec.since_opset, opset + 1), " or newer)"));
}

// The results take over the names of the node's outputs, so readers notice nothing.
absl::Status ExpandNode(const Graph& graph, NodeId id, GraphCopier* copier, GraphBuilder* builder) {
  const auto& wanted = graph.node(id).outputs;
  Node node = copier->Detached(id);
  node.outputs = wanted;
  PLAIT_ASSIGN_OR_RETURN(const std::vector<TensorId> outputs,
                         SpecOf(node.op).expand(node, builder));
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (wanted[i] == kNoTensor) continue;
    if (i >= outputs.size() || outputs[i] == kNoTensor) {
      return absl::UnimplementedError(absl::StrCat("its output ", i, " has no older form"));
    }
    copier->Exchange(wanted[i], outputs[i]);
  }
  return absl::OkStatus();
}

// Expands the nodes that `expands` says yes to until there are none; the first error ends it.
// A round copies the whole graph; nodes that an expansion added are looked at in the next one.
absl::StatusOr<Graph> ExpandWhere(
    const Graph& graph,
    absl::FunctionRef<absl::StatusOr<bool>(const Graph& current, NodeId id)> expands,
    absl::FunctionRef<absl::Status(const Graph& current, NodeId id, const absl::Status& why)>
        error) {
  Graph current = graph;
  for (int round = 0; round < kExpansionRoundsMax; ++round) {
    GraphBuilder builder;
    GraphCopier copier(current, &builder);
    bool expanded = false;
    for (NodeId id = 0; id < current.node_count(); ++id) {
      PLAIT_ASSIGN_OR_RETURN(const bool expands_node, expands(current, id));
      if (!expands_node) {
        copier.CopyNode(id);
        continue;
      }
      const absl::Status status = ExpandNode(current, id, &copier, &builder);
      if (!status.ok()) return error(current, id, status);
      expanded = true;
    }
    if (!expanded) return current;
    copier.CopyOutputs();
    PLAIT_ASSIGN_OR_RETURN(current, std::move(builder).Finish());
  }
  return absl::InternalError(
      absl::StrCat("operators did not expand in ", kExpansionRoundsMax, " rounds"));
}

}  // namespace

absl::StatusOr<Graph> ExpandNodes(const Graph& graph, int opset) {
  const auto error = [opset](const Graph& current, NodeId id, const absl::Status& why) {
    return CannotExpress(current, id, opset, why);
  };
  return ExpandWhere(
      graph,
      [&](const Graph& current, NodeId id) -> absl::StatusOr<bool> {
        const OpKind op = current.node(id).op;
        if (op == OpKind::kOpaque) return false;
        const absl::Status lowered = LowerNode(current, id, opset).status();
        if (lowered.ok()) return false;
        if (SpecOf(op).expand == nullptr) return error(current, id, lowered);
        return true;
      },
      error);
}

absl::StatusOr<Graph> ExpandAtImport(const Graph& graph) {
  return ExpandWhere(
      graph,
      [](const Graph& current, NodeId id) -> absl::StatusOr<bool> {
        return ExpandsAtImport(current, id);
      },
      [](const Graph& current, NodeId id, const absl::Status& why) {
        return Annotate(why, LabelOf(current, id));
      });
}

}  // namespace plait
