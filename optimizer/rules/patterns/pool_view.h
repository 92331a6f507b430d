#pragma once

#include "optimizer/ir/graph.h"

namespace plait {

// True for a pool with one result: images and channels are pooled each by itself.
bool IsPool(const Graph& graph, NodeId node);

// True for a MaxPool with one result, each element of which is one of the input's: no window may
// see padding alone, as a dilated one may.
bool TakesLargest(const Graph& graph, NodeId node);

}  // namespace plait
