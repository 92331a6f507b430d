#include "optimizer/rules/ask_rules.h"

#include <utility>

#include "absl/container/flat_hash_set.h"

namespace plait {
namespace {

// Branches of a rule may find the same fault.
void DropRepeated(std::vector<std::string>* texts) {
  absl::flat_hash_set<std::string> seen;
  std::erase_if(*texts, [&](const std::string& text) { return !seen.insert(text).second; });
}

RuleAnswer Ask(const Rule& rule, const Graph& graph, NodeId node) {
  RuleAnswer answer{.rule = &rule, .node = node};
  Rule asked = rule;
  asked.misses = Misses(&answer.reasons);
  answer.rewrites = static_cast<int>(rule.match(asked, graph, node).size());
  DropRepeated(&answer.reasons);
  return answer;
}

}  // namespace

std::vector<RuleAnswer> AskRules(const Graph& graph, absl::Span<const Rule* const> rules) {
  std::vector<RuleAnswer> answers;
  for (const Rule* rule : rules) {
    for (NodeId node = 0; node < graph.node_count(); ++node) {
      if (graph.node(node).op != rule->root) continue;
      RuleAnswer answer = Ask(*rule, graph, node);
      if (answer.rewrites > 0 || !answer.reasons.empty()) answers.push_back(std::move(answer));
    }
  }
  return answers;
}

}  // namespace plait
