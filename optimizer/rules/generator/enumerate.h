#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "optimizer/rules/generator/sketch.h"

namespace plait {

// A sketch with what it computes at one random point of GF(p).
struct Enumerated {
  Sketch sketch;
  // Of each output, in the order of the sketch's.
  std::vector<Fingerprint> outputs;
  // Of each step: the operator and the values that it reads. Two sketches that share one have a
  // common subgraph.
  std::vector<Fingerprint> steps;
};

// All graphs of at most `core.operators_max` operators and `core.outputs_max` outputs (what no
// step reads), each once whatever the order of independent steps. A graph that computes a value
// twice is left out, unless that value is its last: then the value computed first is listed as a
// graph of its own, since both are equal. Depth first; the same graphs in the same order for a
// seed. Errors: ResourceExhausted when there are more than `graphs_max`.
absl::StatusOr<std::vector<Enumerated>> Enumerate(const Core& core, uint64_t seed,
                                                  int64_t graphs_max);

}  // namespace plait
