#include "client/kernel_list/rewritten_nodes.h"

#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "optimizer/ir/text.h"
#include "optimizer/kernels/kernel.h"
#include "optimizer/ops/shared/op_spec.h"

namespace plait {
namespace {

void AddTypes(const Graph& graph, absl::Span<const TensorId> tensors, std::string* text) {
  for (const TensorId tensor : tensors) {
    if (tensor != kNoTensor) absl::StrAppend(text, " ", graph.type(tensor).ToString());
  }
}

// What kernels a rewrite brings depends on what it takes, what it gives, and who reads that.
std::string SignatureOf(const Graph& graph, const Rule& rule, const Rewrite& rewrite) {
  std::string text(rule.name);
  for (const NodeId node : rewrite.removed) {
    absl::StrAppend(&text, "\n", OpKindName(graph.node(node).op));
    AddTypes(graph, graph.node(node).inputs, &text);
    absl::StrAppend(&text, " ", graph.node(node).attributes->fingerprint().ToString());
  }
  for (const Rewrite::NewNode& node : rewrite.added) {
    absl::StrAppend(&text, "\n", OpKindName(node.op));
    for (const TensorType& type : node.output_types) absl::StrAppend(&text, " ", type.ToString());
    absl::StrAppend(&text, " ", node.attributes->fingerprint().ToString());
  }
  for (const auto& [from, to] : rewrite.rewired) {
    for (const NodeId user : graph.users(from)) {
      absl::StrAppend(&text, "\n<- ", OpKindName(graph.node(user).op));
      AddTypes(graph, graph.node(user).outputs, &text);
    }
  }
  return text;
}

// A node by what it is and the names of what it reads and writes.
std::string IdentityOf(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  std::string text = absl::StrCat(OpKindName(node.op), node.attributes->fingerprint().ToString());
  for (const TensorId input : node.inputs) {
    if (input == kNoTensor) {
      absl::StrAppend(&text, " _");
      continue;
    }
    const TensorInfo& info = graph.tensor(input);
    absl::StrAppend(
        &text, " ",
        info.constant == nullptr ? *info.name : info.constant->fingerprint().ToString());
  }
  for (const TensorId output : node.outputs) {
    absl::StrAppend(&text, " ", output == kNoTensor ? "_" : *graph.tensor(output).name);
  }
  return text;
}

}  // namespace

absl::Status VisitRewritten(const Graph& graph, absl::Span<const Rule* const> rules,
                            absl::FunctionRef<void(const Graph&, absl::Span<const NodeId>)> visit) {
  absl::flat_hash_set<std::string> known;
  for (NodeId node = 0; node < graph.node_count(); ++node) known.insert(IdentityOf(graph, node));
  absl::flat_hash_set<std::string> seen;
  for (const Rule* const rule : rules) {
    if (rule->always_wins) continue;
    for (NodeId node = 0; node < graph.node_count(); ++node) {
      if (graph.node(node).op != rule->root) continue;
      for (const Rewrite& rewrite : rule->match(*rule, graph, node)) {
        if (!seen.insert(SignatureOf(graph, *rule, rewrite)).second) continue;
        PLAIT_ASSIGN_OR_RETURN(const Graph rewritten, Apply(graph, rewrite));
        std::vector<NodeId> changed;
        for (NodeId other = 0; other < rewritten.node_count(); ++other) {
          if (!known.contains(IdentityOf(rewritten, other))) changed.push_back(other);
        }
        visit(rewritten, changed);
      }
    }
  }
  return absl::OkStatus();
}

void VisitChangedKernels(const Graph& graph, absl::Span<const NodeId> changed,
                         const KernelCatalog& catalog,
                         absl::FunctionRef<void(const Kernel&)> visit) {
  std::vector<NodeId> starts(changed.begin(), changed.end());
  for (const NodeId node : changed) {
    for (const TensorId input : graph.node(node).inputs) {
      if (input == kNoTensor || graph.tensor(input).producer == kNoNode) continue;
      starts.push_back(graph.tensor(input).producer);
    }
  }
  std::sort(starts.begin(), starts.end());
  starts.erase(std::unique(starts.begin(), starts.end()), starts.end());
  for (const NodeId start : starts) {
    for (const Kernel& kernel : catalog.KernelsAt(graph, start, /*fuse=*/true)) {
      const bool is_changed = std::any_of(
          kernel.nodes.begin(), kernel.nodes.end(),
          [&](NodeId node) { return std::binary_search(changed.begin(), changed.end(), node); });
      if (is_changed) visit(kernel);
    }
  }
}

}  // namespace plait
