#include "optimizer/rules/patterns/batch_siblings.h"

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "optimizer/rules/patterns/merge_siblings.h"
#include "optimizer/rules/patterns/reasons.h"

namespace plait {
namespace {

// A region of the search has 30 nodes. Siblings further apart are in no region together, but would
// keep the partition from cutting between them.
constexpr NodeId kSpanMax = 32;

// Adds `node` and what needs its results, as far as the node `last`.
void AddReached(const Graph& graph, NodeId node, NodeId last,
                absl::flat_hash_set<NodeId>* reached) {
  std::vector<NodeId> pending = {node};
  while (!pending.empty()) {
    const NodeId next = pending.back();
    pending.pop_back();
    if (next > last || !reached->insert(next).second) continue;
    for (const TensorId output : graph.node(next).outputs) {
      if (output == kNoTensor) continue;
      pending.insert(pending.end(), graph.users(output).begin(), graph.users(output).end());
    }
  }
}

// Whether both apply one operator to the same constants, and to inputs that fit behind each other.
bool AreAlike(const Graph& graph, NodeId node, NodeId other) {
  const Node& a = graph.node(node);
  const Node& b = graph.node(other);
  if (a.op != b.op || a.inputs.size() != b.inputs.size() || *a.attributes != *b.attributes) {
    return false;
  }
  if (a.inputs[0] == b.inputs[0]) return false;
  for (size_t i = 1; i < a.inputs.size(); ++i) {
    if (a.inputs[i] != b.inputs[i]) return false;
    const bool is_omitted = a.inputs[i] == kNoTensor;
    if (!is_omitted && graph.constant(node, static_cast<int>(i)) == nullptr) return false;
  }
  TensorType x = graph.input_type(node, 0);
  const TensorType& y = graph.input_type(other, 0);
  if (x.rank() < 2 || y.rank() != x.rank()) return false;
  x.shape[0] = y.shape[0];
  return x == y;
}

// The Add of the same constant that alone reads each of the tensors, and does not tell their rows
// apart; empty unless all have one.
std::vector<NodeId> EqualAdds(const Graph& graph, absl::Span<const TensorId> tensors) {
  std::vector<NodeId> adds;
  TensorId constant = kNoTensor;
  for (const TensorId tensor : tensors) {
    const NodeId add = SoleUser(graph, tensor, OpKind::kAdd);
    const auto side = add == kNoNode ? std::nullopt : OneConstantInput(graph, add);
    if (!side || graph.output_type(add) != graph.type(tensor)) return {};
    const TensorId added = graph.node(add).inputs[side->constant];
    const TensorType& type = graph.type(added);
    if (type.rank() == graph.type(tensor).rank() && type.shape[0] != 1) return {};
    if (constant != kNoTensor && added != constant) return {};
    constant = added;
    adds.push_back(add);
  }
  return adds;
}

Rewrites Batch(const Graph& graph, absl::Span<const NodeId> siblings) {
  RewriteBuilder builder(graph);
  const Node& first = graph.node(siblings[0]);
  std::vector<TensorId> joined;
  std::vector<TensorId> results;
  for (const NodeId sibling : siblings) {
    joined.push_back(graph.node(sibling).inputs[0]);
    results.push_back(graph.node(sibling).outputs[0]);
  }
  std::vector<TensorId> inputs(first.inputs.begin(), first.inputs.end());
  inputs[0] = builder.Add(OpKind::kConcat, {{"axis", int64_t{0}}}, joined);
  TensorId merged = builder.Add(first.op, *first.attributes, inputs);
  const std::vector<NodeId> adds = EqualAdds(graph, results);
  if (!adds.empty()) {
    const auto side = OneConstantInput(graph, adds[0]);
    merged = builder.Add(OpKind::kAdd, {}, {merged, graph.node(adds[0]).inputs[side->constant]});
    for (size_t i = 0; i < results.size(); ++i) results[i] = graph.node(adds[i]).outputs[0];
  }
  return ReplaceBySplit(graph, &builder, merged, 0, std::move(results));
}

}  // namespace

Rewrites BatchSiblings(const Graph& graph, NodeId node, Misses misses) {
  const auto miss = [&](NodeId other, absl::string_view what) {
    misses.Because([&] { return absl::StrCat(NodeText(graph, other), what); });
  };
  const NodeId last = node + kSpanMax;
  std::vector<NodeId> siblings = {node};
  absl::flat_hash_set<NodeId> reached;
  for (const NodeId other : graph.users(graph.node(node).inputs[1])) {
    if (other <= node || graph.node(other).op != graph.node(node).op) continue;
    if (other > last) {
      miss(other, " is too far away");
      continue;
    }
    if (!AreAlike(graph, node, other)) {
      miss(other, " has other inputs, shapes or attributes");
      continue;
    }
    // Most nodes have no sibling, and need not be walked from.
    if (reached.empty()) AddReached(graph, node, last, &reached);
    if (reached.contains(other)) {
      miss(other, " needs the result of the one before");
      continue;
    }
    siblings.push_back(other);
    AddReached(graph, other, last, &reached);
  }
  return MergeSets(siblings, [&](absl::Span<const NodeId> set) { return Batch(graph, set); });
}

}  // namespace plait
