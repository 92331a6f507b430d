#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "client/json.h"
#include "client/loaded_model.h"
#include "optimizer/rules/rule.h"

namespace plait {

// A graph of a model that rules are asked about.
struct AskedGraph {
  std::string name;  // "original", "normal_form" (what a search begins with) or "running"
  Graph graph;
};

// What a rule says of one node of one graph.
struct ExplainedRule {
  const Rule* rule = nullptr;
  std::string graph;    // AskedGraph::name
  NodeId id = kNoNode;  // the node, in that graph
  std::string op;
  std::string node;  // its name, or "%NAME" of its output where it has none
  int rewrites = 0;  // 0: the rule does not apply
  // What the best of the rewrites adds to the time of the whole graph, by predicted times: below 0
  // it is faster. Unset where it does not apply, always wins, or cannot be planned.
  std::optional<double> change_us;
  std::vector<std::string> reasons;  // why it does not apply, or not to more
};

// The graphs of a model, those that differ each once. Errors: those of reading and binding it.
absl::StatusOr<std::vector<AskedGraph>> AskedGraphs(const LoadedModel& model,
                                                    const Bindings& shapes);

// The rule of that name, or all for "all" and "". Errors: InvalidArgument, with names that look
// like it.
absl::StatusOr<std::vector<const Rule*>> RulesNamed(absl::string_view name);

// What the rules say of the graphs, in the rules' order; where `node` is not empty, at nodes of
// that name and those beside them. The same answer of several graphs stands once. Pure.
std::vector<ExplainedRule> ExplainRules(absl::Span<const AskedGraph> graphs,
                                        absl::Span<const Rule* const> rules,
                                        absl::string_view node);

// Sets ExplainedRule::change_us of the first `count_max` that can have one: a plan for each rewrite
// is made by predicted times, and nothing runs.
void PriceRules(absl::Span<const AskedGraph> graphs, const DeviceDescription& device, int count_max,
                std::vector<ExplainedRule>* answers);

// [{"rule", "law", "graph", "operator", "node", "rewrites", "change_us", "reasons"}]
Json RulesJson(absl::Span<const ExplainedRule> answers);

// A rule with its law on a line, and what it says of each node below, `top` nodes a rule at most
// (0: all). Rules of `asked` that say nothing are named, too, unless all were asked.
std::string RulesText(absl::Span<const ExplainedRule> answers, absl::Span<const Rule* const> asked,
                      size_t top);

}  // namespace plait
