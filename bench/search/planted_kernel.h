#pragma once

#include <optional>

#include "absl/status/statusor.h"
#include "optimizer/ir/graph.h"

namespace plait {

// The graph with some kernels more: the result of a node is multiplied by one, again and again. A
// plan of it computes the same and takes these kernels longer, which is a gain whose size is known
// for whoever finds the graph without them. nullopt for a node without a float32 result of its own.
absl::StatusOr<std::optional<Graph>> WithKernelsMore(const Graph& graph, NodeId behind, int count);

}  // namespace plait
