#pragma once

#include "optimizer/ir/rewrite.h"

namespace plait {

// Moves a node that only rearranges elements behind the elementwise unary operator that alone reads
// it: f(m(x)) = m(f(x)). Costs nothing by itself; two movers meet so and may cancel, or the
// operator meets a kernel that takes it along. None when another operator reads the node, or
// several do.
Rewrites PushThroughUnary(const Graph& graph, NodeId node);

}  // namespace plait
