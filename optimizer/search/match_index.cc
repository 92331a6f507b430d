#include "optimizer/search/match_index.h"

#include <algorithm>
#include <utility>

namespace plait {

MatchIndex::MatchIndex(const Graph& graph) : graph_(graph), nodes_of_(kOpKindCount) {
  for (NodeId node = 0; node < graph.node_count(); ++node) {
    nodes_of_[static_cast<int>(graph.node(node).op)].push_back(node);
  }
}

std::vector<Match> MatchIndex::FindMatches(RuleList rules) const {
  std::vector<Match> matches;
  ForEachMatch(rules, [&](Match match) { matches.push_back(std::move(match)); });
  return matches;
}

void MatchIndex::ForEachMatch(RuleList rules, absl::FunctionRef<void(Match)> visit) const {
  for (size_t rule = 0; rule < rules.size(); ++rule) {
    if (rules[rule]->always_wins) continue;
    for (const NodeId node : NodesOf(rules[rule]->root)) {
      int choice = 0;
      for (Rewrite& rewrite : rules[rule]->match(*rules[rule], graph_, node)) {
        visit({static_cast<int>(rule), node, std::move(rewrite), choice++});
      }
    }
  }
}

std::vector<NodeId> NodesTouchedBy(const Graph& graph, const Match& match) {
  std::vector<NodeId> touched = match.rewrite.removed;
  touched.push_back(match.node);
  for (const auto& [old_tensor, new_tensor] : match.rewrite.rewired) {
    if (new_tensor >= graph.tensor_count()) continue;
    const NodeId producer = graph.tensor(new_tensor).producer;
    if (producer != kNoNode) touched.push_back(producer);
  }
  std::sort(touched.begin(), touched.end());
  touched.erase(std::unique(touched.begin(), touched.end()), touched.end());
  return touched;
}

}  // namespace plait
