#pragma once

#include <cstdint>

#include "optimizer/ir/graph.h"

namespace plait {

// A small graph in float32 of what rules look for: convolutions, products, pools, views and
// element-wise operators, with constants and shapes of all kinds, whose operands are often the same
// tensors. It computes finite numbers from inputs in [-1, 1]. Every tensor that nobody reads is an
// output, and now and then one that is read. Equal seeds give equal graphs.
Graph RandomGraph(uint64_t seed);

}  // namespace plait
