#pragma once

#include "optimizer/ir/rewrite.h"

namespace plait {

// (x op a) op b as x op (a op b), a and b constant: the constants are combined once. None when
// something else reads x op a, or a op b would be larger than both, as a row and a column make a
// matrix; nor where the difference would be more than a rounding: before a function with steps, and
// of numbers beyond those that sums and products are made of. REQUIRES: `node` applies Add or Mul.
Rewrites MergeConstants(const Graph& graph, NodeId node);

}  // namespace plait
