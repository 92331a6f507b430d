#include "optimizer/normal_form/canonicalize.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace plait {
namespace {

// Applies the first match in rule order, then node order; false when nothing matches.
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
  return current;
}

}  // namespace plait
