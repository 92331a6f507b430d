#pragma once

#include <string>
#include <vector>

#include "absl/types/span.h"
#include "optimizer/rules/rule.h"

namespace plait {

// What a rule says of one node.
struct RuleAnswer {
  const Rule* rule = nullptr;
  NodeId node = kNoNode;             // the rule's root
  int rewrites = 0;                  // 0: it does not apply
  std::vector<std::string> reasons;  // why not, or why not to more nodes; each once
};

// Asks rules about every node that may be their root: those that apply or nearly did, with what
// stood in the way; in the order of the rules, then of the nodes. Rules of which nothing is listed
// found no such operators. Not every rule gives reasons. Pure.
std::vector<RuleAnswer> AskRules(const Graph& graph, absl::Span<const Rule* const> rules);

}  // namespace plait
