#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "optimizer/rules/generator/core_operators.h"
#include "optimizer/rules/laws/law.h"

namespace plait {

// What became of what a core offers.
struct LawsFound {
  std::vector<Law> laws;
  int64_t graphs = 0;
  int64_t classes = 0;   // sets of graphs that agree at the first point, but for names
  int64_t pairs = 0;     // pairs of those that were looked at
  int64_t common = 0;    // left out: a step in common
  int64_t renamed = 0;   // left out: another law under other names, or with two inputs the same
  int64_t implied = 0;   // left out: both sides are linked by other laws of their class
  int64_t untyped = 0;   // left out: no sizes that a law's form can say
  int64_t rejected = 0;  // refuted at further points and shapes
};

// Enumerates the core's graphs, pairs those that compute the same at a random point, leaves out
// what other laws say already, and verifies the rest (verify_law.h). Deterministic for a seed.
// `known`: the laws of other cores, as FindLaws left them there; those found are added.
// Errors: those of Enumerate.
absl::StatusOr<LawsFound> FindLaws(const Core& core, uint64_t seed, int64_t graphs_max,
                                   std::set<std::string>* known);

}  // namespace plait
