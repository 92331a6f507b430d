#pragma once

#include <optional>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "optimizer/ir/rewrite.h"

namespace plait {

// A substitution: a law of equality between graphs, applied from left to right. A constant, defined
// in the file named after it and listed in rules.def, whose order is the search order.
struct Rule {
  absl::string_view name;
  absl::string_view law;  // the equation, printed in reports and failures
  OpKind root;            // the operator of the node that `match` is called with

  // What to change when the rule applies at `node`, nullopt when it does not. Side conditions
  // (single use, equal attributes, constant weights) are checked here; a Rewrite that this returns
  // is right. REQUIRES: graph.node(node).op == root.
  std::optional<Rewrite> (*match)(const Graph& graph, NodeId node);

  // True when the rewrite is always at least as good (removing a no-op, folding into a weight):
  // applied until nothing matches, before the search. False: the search decides by cost.
  bool always_wins = false;

  // True when the rewrite computes a new number from inline constants, so that both sides are equal
  // up to the rounding of that number only, and not in exact arithmetic.
  bool rounds = false;

  // False when the rewrite was measured to make models slower in another runtime (see bench/peers).
  bool portable = true;
};

// All rules, in search order.
absl::Span<const Rule* const> AllRules();

// Those of them that are portable.
absl::Span<const Rule* const> PortableRules();

// nullptr when there is no rule of that name.
const Rule* FindRule(absl::string_view name);

}  // namespace plait
