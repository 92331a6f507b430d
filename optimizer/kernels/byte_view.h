#pragma once

#include "absl/types/span.h"
#include "optimizer/ir/graph.h"
#include "optimizer/kernels/format.h"

namespace plait {

// Whether a chain of nodes that reshape and transpose one tensor only gives its bytes another name:
// the bytes of what the first node reads, in format `from`, are those of what the last one writes
// in format `to`. An image in channels-last is a matrix of pixels by channels, so that from tokens
// to images and back nothing has to move:
//   Transpose {perm=[0,2,3,1]}                               channels_last -> plain
//   Reshape to [N, C, H*W], Transpose {perm=[0,2,1]}         channels_last -> plain
// and the same the other way round. Axes of one element lie anywhere.
// False for any other nodes, for a chain that something else reads in between, and for a constant,
// whose bytes are not the plan's. Pure.
bool KeepsBytes(const Graph& graph, absl::Span<const NodeId> nodes, Format from, Format to);

}  // namespace plait
