#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "optimizer/ir/graph.h"
#include "optimizer/normal_form/canonicalize.h"
#include "optimizer/search/match_index.h"

namespace plait {

// One step of a search: rule `rule` of the list at node `node` of the graph as it then was, in
// normal form. A sequence of steps can be repeated on another graph of the same structure, which is
// how forty equal layers are searched once. Means nothing without the rule list that it was found
// with. Three numbers where the rewrite itself is a piece of a graph: steps are kept for every
// variant.
struct RewriteStep {
  int rule = 0;
  NodeId node = kNoNode;
  int choice = 0;  // which of the rewrites that the rule offered there
  friend bool operator==(const RewriteStep&, const RewriteStep&) = default;
};

// The rules of the steps, each once, ascending.
std::vector<int> RulesOf(absl::Span<const RewriteStep> steps);

// The graph after `rewrite`, which `rule` made, as it is: not in normal form.
// Errors: Internal when the rule produced a wrong rewrite, naming it.
absl::StatusOr<Graph> ApplyRule(const Graph& graph, RuleList rules, int rule,
                                const Rewrite& rewrite);

// The graph after `rewrite`, which `rule` made, in normal form; adds what was applied to `counts`,
// rules of the normal form included.
// Errors: Internal when a rule produced a wrong rewrite, naming the rule.
absl::StatusOr<Graph> ApplyStep(const Graph& graph, RuleList rules, int rule,
                                const Rewrite& rewrite, RuleCounts* counts);

// Repeats steps, found on a graph of the same structure, by asking each rule again, so that a
// rewrite is never taken over unseen; adds what was applied to `counts`, also when it fails midway.
// No cost is looked at: a graph of the same structure has the same kernels, and so the same gain.
// Errors: FailedPrecondition when a rule does not match where it did: the graphs differ in
// something that the rule looks at. Internal as above.
absl::StatusOr<Graph> RepeatSteps(Graph graph, RuleList rules, absl::Span<const RewriteStep> steps,
                                  RuleCounts* counts);

}  // namespace plait
