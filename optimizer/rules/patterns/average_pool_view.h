#pragma once

#include "optimizer/ir/graph.h"

namespace plait {

// True when the average of a constant is that constant everywhere, the border included, so that a
// bias may be added before or after the pool: padding is none, or not counted and no window of it
// alone.
bool AverageKeepsConstants(const Graph& graph, NodeId average_pool);

}  // namespace plait
