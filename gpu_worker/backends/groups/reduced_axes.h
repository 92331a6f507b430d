#pragma once

#include <optional>
#include <vector>

#include "optimizer/ir/graph.h"

namespace plait {

// The axes that a Reduce* or Global*Pool node reduces, ascending; nullopt when they are not
// constant. Pure and thread-safe.
std::optional<std::vector<int>> ReducedAxes(const Graph& graph, NodeId node);

}  // namespace plait
