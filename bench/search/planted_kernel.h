#pragma once

#include <optional>

#include "absl/status/statusor.h"
#include "optimizer/ir/graph.h"

namespace plait {

// The graph with one kernel more: the result of a node is multiplied by one. A plan of it computes
// the same and takes one kernel longer, which is a gain whose size is known for whoever finds the
// graph without it. nullopt for a node without a float32 result of its own.
absl::StatusOr<std::optional<Graph>> WithOneKernelMore(const Graph& graph, NodeId behind);

}  // namespace plait
