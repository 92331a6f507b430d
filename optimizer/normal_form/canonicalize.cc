#include "optimizer/normal_form/canonicalize.h"

#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "optimizer/ir/graph_copier.h"

namespace plait {
namespace {

// Three steps in a circle, until no rule changed anything: fold, merge, then rules one rewrite at a
// time. A rewrite can leave new constants to fold and new twins to merge, hence the circle. With a
// constant %c,
//
//   %a = Identity(%x) {}
//   %k = Neg(%c) {}
//   %p = Exp(%a) {}
//   %q = Exp(%x) {}
//   %r = Add(%p, %k) {}
//   %y = Mul(%r, %q) {}
//
// first turn: FoldConstants makes %k a constant; nothing merges, since %p and %q read different
// tensors; remove_identity applies at %a. Second turn: %p and %q read %x both and become one. No
// rule applies any more, and what remains is
//
//   %p = Exp(%x) {}
//   %r = Add(%p, %k) {}
//   %y = Mul(%r, %p) {}
//
// Each rewrite builds a graph and starts again at its first node: N nodes and R rewrites cost
// O(N R), and R is 16 (N + 1) at most.

// Applies the first match in node order, at one node in rule order; false when nothing matches.
// What else a rule offers at that node is found again, if it still holds, when the search for a
// match starts anew.
absl::StatusOr<bool> ApplyFirst(absl::Span<const Rule* const> rules, Graph* graph,
                                RuleCounts* counts) {
  for (NodeId node = 0; node < graph->node_count(); ++node) {
    for (const Rule* rule : rules) {
      if (!rule->always_wins || rule->root != graph->node(node).op) continue;
      const Rewrites rewrites = rule->match(*rule, *graph, node);
      if (rewrites.empty()) continue;
      auto rewritten = Apply(*graph, rewrites.front());
      if (!rewritten.ok()) {
        return absl::InternalError(
            absl::StrCat("rule ", rule->name, ": ", rewritten.status().message()));
      }
      *graph = *std::move(rewritten);
      ++(*counts)[std::string(rule->name)];
      return true;
    }
  }
  return false;
}

// What `original` has keeps its name; all other tensors are named by their place, so that their
// names do not tell in which order rules were applied.
absl::StatusOr<Graph> NameByPlace(const Graph& graph, const Graph& original) {
  absl::flat_hash_set<absl::string_view> given;
  for (const TensorInfo& tensor : original.tensors()) given.insert(*tensor.name);
  GraphBuilder builder;
  GraphCopier copier(graph, &builder);
  for (TensorId tensor = 0; tensor < graph.tensor_count(); ++tensor) {
    if (!given.contains(*graph.tensor(tensor).name)) copier.ForgetName(tensor);
  }
  for (NodeId node = 0; node < graph.node_count(); ++node) copier.CopyNode(node);
  copier.CopyOutputs();
  return std::move(builder).Finish();
}

}  // namespace

absl::StatusOr<Graph> Canonicalize(const Graph& graph, absl::Span<const Rule* const> rules,
                                   RuleCounts* counts) {
  Graph current = graph;
  int64_t rewrites_left = 16 * (int64_t{graph.node_count()} + 1);
  for (bool changed = true; changed;) {
    changed = false;
    PLAIT_ASSIGN_OR_RETURN(current, FoldConstants(current, counts));
    PLAIT_ASSIGN_OR_RETURN(current, MergeCommonSubexpressions(current, counts));
    while (rewrites_left-- > 0) {
      PLAIT_ASSIGN_OR_RETURN(const bool applied, ApplyFirst(rules, &current, counts));
      if (!applied) break;
      changed = true;
    }
  }
  if (current.fingerprint() == graph.fingerprint()) return current;
  return NameByPlace(current, graph);
}

}  // namespace plait
