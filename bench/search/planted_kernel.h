#pragma once

#include "absl/status/statusor.h"
#include "optimizer/ir/graph.h"

namespace plait {

// The graph with a node of it twice, of which nobody reads the first: a plan of it computes the
// same and takes one kernel longer, which is a gain whose size is known for whoever finds the graph
// without it.
absl::StatusOr<Graph> WithNodeTwice(const Graph& graph, NodeId twice);

}  // namespace plait
