#pragma once

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "optimizer/ir/rewrite.h"
#include "optimizer/rules/patterns/misses.h"

namespace plait {

struct LawPattern;

// A substitution: a law of equality between graphs, applied from left to right. A constant, defined
// in the file named after it and listed in rules.def, whose order is the search order.
//
// How to read the folder: rule.h (this file) says what a rule is, rules.def which there are,
// <name>.cc what one does, patterns/ what several recognize or write alike. A rule is tried by its
// golden file, tests/optimizer/rules/golden/<name>.txt.
// Thread rule: constant after construction; `match` may be called from any thread.
struct Rule {
  absl::string_view name;
  absl::string_view law;  // the equation, printed in reports and failures
  OpKind root;            // the operator of the node that `match` is called with

  // What the rule would change at `node`, empty when it does not apply there. Side conditions
  // (single use, equal attributes, constant weights) are checked here; a Rewrite that this returns
  // is right. `rule` is the rule itself, so that several rules can share a function and differ in
  // their data. Deterministic: equal graphs give equal rewrites in equal order.
  // REQUIRES: graph.node(node).op == root.
  Rewrites (*match)(const Rule& rule, const Graph& graph, NodeId node);

  // True when the rewrite is always at least as good (removing a no-op, folding into a weight):
  // applied until nothing matches, before the search. False: the search decides by cost.
  bool always_wins = false;

  // True when the rewrite computes a new number from inline constants, so that both sides are equal
  // up to the rounding of that number only, and not in exact arithmetic.
  bool rounds = false;

  // False when the rewrite was measured to make models slower in another runtime (see bench/peers).
  bool portable = true;

  // Of a rule that was found by a program (laws/law_rules.h): its law, which `match` reads.
  const LawPattern* pattern = nullptr;

  // Where `match` says which of its conditions failed. Nobody asks a rule of rules.def; AskRules
  // asks copies of them.
  Misses misses = {};
};

// One constant per line of rules.def, kRemoveIdentity and so on; declared here so that they have
// one linkage.
#define PLAIT_RULE(name) extern const Rule k##name;
#include "optimizer/rules/rules.def"
#undef PLAIT_RULE

// All rules, in search order.
absl::Span<const Rule* const> AllRules();

// Those of them that are portable, in search order.
absl::Span<const Rule* const> PortableRules();

// nullptr when there is no rule of that name.
const Rule* FindRule(absl::string_view name);

}  // namespace plait
