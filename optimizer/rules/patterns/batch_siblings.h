#pragma once

#include "optimizer/ir/graph.h"
#include "optimizer/rules/patterns/misses.h"

namespace plait {

// Computes the node at once with later ones that apply its operator with equal attributes to the
// same constants: their inputs 0, which may differ along the first axis only, are laid behind each
// other along it, and a Split tells the results apart again. The Add of one constant that alone
// follows each of them goes along. Offers all such siblings at once and each by itself, see
// MergeSets. None when there is no sibling, and none that leads to another one.
// REQUIRES: the first axis of the result is that of input 0, row by row.
Rewrites BatchSiblings(const Graph& graph, NodeId node, Misses misses = {});

}  // namespace plait
