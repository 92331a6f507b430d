#pragma once

#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "optimizer/rules/rule.h"

namespace plait {

// What canonicalization did: how often each rule applied, by name; "fold_constants" and
// "merge_common_subexpressions" are counted beside the rules.
using RuleCounts = std::map<std::string, int64_t>;

// Whether every runtime of ONNX runs what these rules leave.
bool IsPortable(const RuleCounts& counts);

// Brings a graph into normal form without any search: constants folded, common subexpressions
// merged, and every rule of `rules` with always_wins applied until none matches. Deterministic; the
// result is its own normal form. Tensors of the graph keep their names, others are named by their
// place. Ends because each such rule removes nodes or moves work into
// constants, and after 16 rewrites per node of the input graph at the latest. Adds to `counts`.
// Errors: Internal when a rule produced a wrong rewrite, naming the rule; those of FoldConstants.
absl::StatusOr<Graph> Canonicalize(const Graph& graph, absl::Span<const Rule* const> rules,
                                   RuleCounts* counts);

// Nodes whose inputs are all constants become constant expressions, and then their readers in turn.
// Opaque nodes stay. Adds to `counts`. Errors: those of ApplyToConstants.
absl::StatusOr<Graph> FoldConstants(const Graph& graph, RuleCounts* counts);

// Nodes that apply the same operator with equal attributes to the same tensors become one; the
// inputs of commutative operators may be exchanged. Two graph outputs stay two nodes, since both
// keep their names, and opaque nodes stay, since they may draw random numbers. Adds to `counts`.
absl::StatusOr<Graph> MergeCommonSubexpressions(const Graph& graph, RuleCounts* counts);

}  // namespace plait
