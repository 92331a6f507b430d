#include "optimizer/normal_form/canonicalize.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "optimizer/ir/forget_names.h"
#include "optimizer/ir/rewrite_batch.h"

namespace plait {
namespace {

// Three steps in a circle, until no rule changed anything: fold, merge, then rules. A rewrite can
// leave new constants to fold and new twins to merge, hence the circle. With a constant %c,
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
// Rules are applied in sweeps over the nodes: each takes the first match of every node that keeps
// out of the others' way (rewrite_batch.h) and builds one graph. A sweep is O(N), and there are as
// many as rewrites make each other possible, mostly a handful; never more than the 16 (N + 1)
// rewrites that are allowed.

// The rules that always win, by the operator at whose nodes they look, in their order.
using RulesByRoot = std::vector<std::vector<const Rule*>>;

RulesByRoot WinningRules(absl::Span<const Rule* const> rules) {
  RulesByRoot by_root(kOpKindCount);
  for (const Rule* rule : rules) {
    if (rule->always_wins) by_root[static_cast<int>(rule->root)].push_back(rule);
  }
  return by_root;
}

absl::Status WrongRule(const Rule& rule, const absl::Status& status) {
  return absl::InternalError(absl::StrCat("rule ", rule.name, ": ", status.message()));
}

// Applies up to `rewrites_max` matches, the first ones in node order, at one node in rule order;
// returns how many. What else is possible then is found again by the next sweep, if it still holds.
absl::StatusOr<int64_t> Sweep(const RulesByRoot& rules, int64_t rewrites_max, Graph* graph,
                              RuleCounts* counts) {
  RewriteBatch batch(*graph);
  std::vector<const Rule*> applied;
  for (NodeId node = 0; node < graph->node_count(); ++node) {
    if (static_cast<int64_t>(applied.size()) == rewrites_max) break;
    for (const Rule* rule : rules[static_cast<int>(graph->node(node).op)]) {
      Rewrites rewrites = rule->match(*rule, *graph, node);
      if (rewrites.empty()) continue;
      if (batch.Add(std::move(rewrites.front()))) applied.push_back(rule);
      break;
    }
  }
  if (applied.empty()) return 0;
  absl::StatusOr<Graph> rewritten = Apply(*graph, batch.rewrites());
  if (!rewritten.ok()) {
    for (size_t i = 0; i < applied.size(); ++i) {
      const absl::Status status = Apply(*graph, batch.rewrites()[i]).status();
      if (!status.ok()) return WrongRule(*applied[i], status);
    }
    return WrongRule(*applied.front(), rewritten.status());
  }
  for (const Rule* rule : applied) ++(*counts)[std::string(rule->name)];
  *graph = *std::move(rewritten);
  return static_cast<int64_t>(applied.size());
}

// What `original` has keeps its name; all other tensors are named by their place, so that their
// names do not tell in which order rules were applied.
Graph NameByPlace(const Graph& graph, const Graph& original) {
  absl::flat_hash_set<absl::string_view> given;
  for (const TensorInfo& tensor : original.tensors()) given.insert(*tensor.name);
  std::vector<bool> forgotten;
  for (const TensorInfo& tensor : graph.tensors())
    forgotten.push_back(!given.contains(*tensor.name));
  return ForgetNames(graph, forgotten);
}

}  // namespace

bool IsPortable(const RuleCounts& counts) {
  return std::all_of(counts.begin(), counts.end(), [](const auto& entry) {
    const Rule* const rule = FindRule(entry.first);
    return rule == nullptr || rule->portable;  // folding and merging are no rules of the table
  });
}

absl::StatusOr<Graph> Canonicalize(const Graph& graph, absl::Span<const Rule* const> rules,
                                   RuleCounts* counts) {
  const RulesByRoot winning_rules = WinningRules(rules);
  Graph current = graph;
  int64_t rewrites_left = 16 * (int64_t{graph.node_count()} + 1);
  for (bool changed = true; changed;) {
    changed = false;
    PLAIT_ASSIGN_OR_RETURN(current, FoldConstants(current, counts));
    PLAIT_ASSIGN_OR_RETURN(current, MergeCommonSubexpressions(current, counts));
    while (rewrites_left > 0) {
      PLAIT_ASSIGN_OR_RETURN(const int64_t applied,
                             Sweep(winning_rules, rewrites_left, &current, counts));
      if (applied == 0) break;
      rewrites_left -= applied;
      changed = true;
    }
  }
  if (current.fingerprint() == graph.fingerprint()) return current;
  return NameByPlace(current, graph);
}

}  // namespace plait
