#pragma once

#include <cstdint>
#include <vector>

#include "optimizer/ir/graph.h"

namespace plait {

// Inputs for timing and comparing, equal for equal seeds and never all zero: floats uniform in [-1,
// 1); integers small, and below the size of every axis that they index; inputs whose name contains
// "mask" are ones. String inputs have no value and make the graph impossible to run. Errors:
// Unimplemented for a string input, naming it.
absl::StatusOr<std::vector<Tensor>> MakeInputs(const Graph& graph, uint64_t seed);

}  // namespace plait
