#pragma once

#include "optimizer/ir/graph.h"

namespace plait {

// Whether the node is a Resize of images of fp32 that changes rows and columns alone, by a region
// that is all of the image: a crop has pixels that are made of none.
bool IsResizedImage(const Graph& graph, NodeId node);

}  // namespace plait
