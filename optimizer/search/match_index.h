#pragma once

#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/types/span.h"
#include "optimizer/ir/graph.h"
#include "optimizer/rules/rule.h"

namespace plait {

// The rules of a search, in search order.
using RuleList = absl::Span<const Rule* const>;

// A rule that applies at a node, with what it would do. Belongs to the graph that it was found in:
// after a rewrite ids mean other nodes.
// The rewrite is what the rule would do; nothing of the graph has changed.
struct Match {
  int rule = 0;  // index into the rule list
  NodeId node = kNoNode;
  Rewrite rewrite;
  int choice = 0;  // which of the rewrites that the rule offers at the node this is
};

// Nodes by operator, so that a rule looks only at nodes that can be its root: O(nodes) to build,
// and then each rule costs what its own candidates cost. `graph` must outlive the index.
// Thread rule: const access from any thread.
class MatchIndex {
 public:
  explicit MatchIndex(const Graph& graph);

  // Ascending. Valid for as long as the index.
  absl::Span<const NodeId> NodesOf(OpKind op) const { return nodes_of_[static_cast<int>(op)]; }

  // All matches of rules that are not always_wins, in canonical order: by rule, then by node,
  // then as the rule orders them. Those that always win are applied beforehand and leave no match.
  // Every match costs the memory of its rewrite, and no graph.
  std::vector<Match> FindMatches(RuleList rules) const;

  // Shows the same matches one by one, and keeps none.
  void ForEachMatch(RuleList rules, absl::FunctionRef<void(Match)> visit) const;

 private:
  const Graph& graph_;
  std::vector<std::vector<NodeId>> nodes_of_;
};

// The nodes that a cut must leave together for the match to survive: its root, the nodes that go,
// and the producers of what remains in their place. Ascending.
// A partition counts them: a cut between two of them costs the match.
std::vector<NodeId> NodesTouchedBy(const Graph& graph, const Match& match);

}  // namespace plait
