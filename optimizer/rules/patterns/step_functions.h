#pragma once

#include "optimizer/ir/graph.h"

namespace plait {

// True when the tensor reaches a function with steps (Floor, Cast to integers, a comparison, Mod,
// ...) through nothing but sums, products, extremes and movements of elements, which are exact
// where the numbers are whole. There a number that is rounded otherwise by one unit may come out
// another whole number: 41 / 41 is 1, and 41 * (1 / 41) is less. Behind everything else (products
// of matrices, exponentials, normalizations) numbers are rounded anyway. Also true for what is not
// understood, and where that takes too long to say.
bool ReachesStep(const Graph& graph, TensorId tensor);

}  // namespace plait
