#pragma once

#include <cstdint>
#include <vector>

#include "optimizer/ir/graph.h"

namespace plait {

// Of a Transpose: axis i of its output is axis PermutationOf(..)[i] of its input, counted from the
// front whichever way the attribute counts; without the attribute the axes are reversed.
// REQUIRES: the node's types were inferred.
std::vector<int64_t> PermutationOf(const Graph& graph, NodeId transpose);

}  // namespace plait
