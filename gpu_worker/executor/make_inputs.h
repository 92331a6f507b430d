#pragma once

#include <cstdint>
#include <vector>

#include "optimizer/ir/graph.h"

namespace plait {

// Inputs for timing and comparing, equal for equal seeds and indices and never all zero. Integers
// are small, and below the size of every axis that they index, directly or moved or cast; bytes
// that are cast to floats or multiplied take all values; inputs whose name contains "mask" are ones
// where an axis that they index allows it. Floats are drawn from another distribution for each of
// four indices in turn, because a rewrite that is right for one may be wrong where a function
// saturates, clips or changes its sign:
//   0   uniform in [-1, 1)
//   1   wide: close to normal, of standard deviation 3, from -18 to 18
//   2   not negative, as behind a Relu or in an image: the size of a standard normal number
//   3   close to standard normal, from -6 to 6
// String inputs have no value and make the graph impossible to run.
// REQUIRES: index >= 0; the graph passed CheckTypes.
// Errors: Unimplemented for an input that holds no numbers, naming it.
absl::StatusOr<std::vector<Tensor>> MakeInputs(const Graph& graph, uint64_t seed, int index = 0);

// The same for timing alone, of distribution 0, in which floats are some thousand different ones
// again and again: to draw millions takes longer than many a kernel that reads them.
// Errors: as MakeInputs.
absl::StatusOr<std::vector<Tensor>> MakeTimingInputs(const Graph& graph, uint64_t seed);

}  // namespace plait
