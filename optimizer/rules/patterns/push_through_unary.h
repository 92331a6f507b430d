#pragma once

#include "optimizer/ir/graph.h"
#include "optimizer/rules/patterns/misses.h"

namespace plait {

// Moves a node that only rearranges elements behind the elementwise unary operator that alone reads
// it: f(m(x)) = m(f(x)). Costs nothing by itself; two movers meet so and may cancel, or the
// operator meets a kernel that takes it along. None when another operator reads the node, or
// several do, which it tells where one of them is such an operator.
Rewrites PushThroughUnary(const Graph& graph, NodeId node, Misses misses = {});

}  // namespace plait
