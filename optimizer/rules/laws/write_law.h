#pragma once

#include "optimizer/ir/rewrite.h"
#include "optimizer/rules/laws/bind_law.h"

namespace plait {

// The rewrite that puts the law's target into the place of its source; none where something else
// reads a value inside of the source, where an input depends on what the source makes, where the
// target has no types or other ones, where an operand would have to be broadcast by an operator
// that does not, or where constants would take too long to multiply when a model is loaded.
// REQUIRES: `binding` is one of BindLaw's for `graph`.
Rewrites WriteLaw(const LawPattern& pattern, const Graph& graph, const LawBinding& binding);

// What the law would change with its root at `node`: Rule::match of rules that are data.
Rewrites MatchLaw(const LawPattern& pattern, const Graph& graph, NodeId node);

}  // namespace plait
