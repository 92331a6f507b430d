#pragma once

#include "optimizer/ir/graph.h"

namespace plait {

// What families that multiply in planes (see microkernel/plane_tile.h) run: products by constant
// matrices, and convolutions of images, of sizes that are worth it and fit. Pure and thread-safe.

bool IsProductInPlanes(const Graph& graph, NodeId id);
bool IsConvolutionInPlanes(const Graph& graph, NodeId id);

}  // namespace plait
