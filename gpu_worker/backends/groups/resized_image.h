#pragma once

#include "optimizer/ir/graph.h"

namespace plait {

// Whether the node is a Resize of images of fp32 that changes rows and columns alone, by a region
// that is all of the image: a crop has pixels that are made of none.
bool IsResizedImage(const Graph& graph, NodeId node);

// Whether the node is a Resize of fp32, along any axes of a tensor of any rank. Of the axes between
// those in front, which stay, and the last one there are not too many taps to be written down.
bool IsResized(const Graph& graph, NodeId node);

}  // namespace plait
