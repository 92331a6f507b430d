#pragma once

#include "optimizer/ir/graph.h"
#include "optimizer/rules/patterns/misses.h"

namespace plait {

// BatchNormalization at `node` as a multiplication and an addition per channel (axis 1):
// scale' = scale / sqrt(variance + epsilon), shift = bias - mean * scale'. Both are constants, so
// two cheap operators remain that other rules can take further. None when a parameter is no
// constant or the type is not float32, which it tells. REQUIRES: `node` is a BatchNormalization.
Rewrites ExpandBatchNormalization(const Graph& graph, NodeId node, Misses misses = {});

}  // namespace plait
