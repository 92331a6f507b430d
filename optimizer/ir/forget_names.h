#pragma once

#include <vector>

#include "optimizer/ir/graph.h"

namespace plait {

// The graph with generated names for the tensors that are `forgotten`, by tensor: "t0", "t1" and so
// on in their order, but for what others are called. Graph inputs and outputs keep theirs, which
// are the model's interface. Pure.
Graph ForgetNames(const Graph& graph, const std::vector<bool>& forgotten);

}  // namespace plait
