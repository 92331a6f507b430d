#pragma once

#include <optional>

#include "optimizer/ir/rewrite.h"

namespace plait {

// Moves a node that only rearranges elements behind the elementwise unary operator that alone reads
// it.
std::optional<Rewrite> PushThroughUnary(const Graph& graph, NodeId node);

}  // namespace plait
