#pragma once

#include "optimizer/ir/graph.h"
#include "optimizer/rules/patterns/misses.h"

namespace plait {

// Concat(x, y) op c, c a constant per channel, as Concat(x op a, y op b), where a and b are the
// parts of c. None unless the Concat joins nothing but convolutions of constant weights along the
// channels, each read by it alone: they take their parts into their weights. REQUIRES: `node` adds
// or multiplies.
Rewrites ConstantIntoConcat(const Graph& graph, NodeId node, Misses misses = {});

}  // namespace plait
