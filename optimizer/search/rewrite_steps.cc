#include "optimizer/search/rewrite_steps.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace plait {

std::vector<int> RulesOf(absl::Span<const RewriteStep> steps) {
  std::vector<int> rules;
  for (const RewriteStep& step : steps) rules.push_back(step.rule);
  std::sort(rules.begin(), rules.end());
  rules.erase(std::unique(rules.begin(), rules.end()), rules.end());
  return rules;
}

absl::StatusOr<Graph> ApplyRule(const Graph& graph, RuleList rules, int rule,
                                const Rewrite& rewrite) {
  absl::StatusOr<Graph> applied = Apply(graph, rewrite);
  if (applied.ok()) return applied;
  return absl::InternalError(
      absl::StrCat("rule ", rules[rule]->name, ": ", applied.status().message()));
}

absl::StatusOr<Graph> ApplyStep(const Graph& graph, RuleList rules, int rule,
                                const Rewrite& rewrite, RuleCounts* counts) {
  PLAIT_ASSIGN_OR_RETURN(const Graph applied, ApplyRule(graph, rules, rule, rewrite));
  ++(*counts)[std::string(rules[rule]->name)];
  return Canonicalize(applied, rules, counts);
}

absl::StatusOr<Graph> RepeatSteps(Graph graph, RuleList rules, absl::Span<const RewriteStep> steps,
                                  RuleCounts* counts) {
  for (const RewriteStep& step : steps) {
    const Rule& rule = *rules[step.rule];
    const bool has_root = step.node < graph.node_count() && graph.node(step.node).op == rule.root;
    const Rewrites rewrites = has_root ? rule.match(rule, graph, step.node) : Rewrites();
    if (step.choice >= static_cast<int>(rewrites.size())) {
      return absl::FailedPreconditionError(
          absl::StrCat("rule ", rule.name, " does not match at node ", step.node));
    }
    PLAIT_ASSIGN_OR_RETURN(graph,
                           ApplyStep(graph, rules, step.rule, rewrites[step.choice], counts));
  }
  return graph;
}

}  // namespace plait
