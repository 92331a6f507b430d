#pragma once

#include <vector>

#include "optimizer/ir/graph.h"

namespace plait {

// A group's bounds: beyond them a tile's intermediate values leave the first-level cache.
constexpr int kElementwiseNodesMax = 16;
constexpr int kElementwiseOperandsMax = 8;
constexpr int kElementwiseResultsMax = 4;

// True when the node computes each element of its only output from the elements at the same place
// of its (numpy-broadcast) inputs, with an operator and element types that tile programs have.
// Batch normalization with constant statistics is one: x * scale + shift.
bool IsElementwise(const Graph& graph, NodeId node);

// The largest convex group of elementwise nodes with one output shape that starts at `node` and
// follows readers, within the bounds above; just {node} when nothing can join. Intermediate values
// that others read become results of the group.
// `may_join`: for backends that run fewer; `results_max`: of the group, which may have more while
// it grows. REQUIRES: IsElementwise(graph, node).
std::vector<NodeId> GrowElementwiseGroup(const Graph& graph, NodeId node,
                                         bool (*may_join)(const Graph&, NodeId) = IsElementwise,
                                         int results_max = kElementwiseResultsMax);

// True when a tile program can run exactly these nodes: what GrowElementwiseGroup returns, or one
// node.
bool IsElementwiseGroup(const Graph& graph, absl::Span<const NodeId> nodes);

}  // namespace plait
