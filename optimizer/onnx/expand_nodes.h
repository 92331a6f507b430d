#pragma once

#include "absl/status/statusor.h"
#include "optimizer/ir/graph.h"

namespace plait {

// The graph with every node that `opset` lacks written as older operators, so that each node of the
// result can be lowered to it. Inputs, outputs and names stay; a graph that needs nothing comes
// back as it is. Pure and thread-safe.
// Errors: InvalidArgument naming the node that cannot be expressed, and the opset that could.
absl::StatusOr<Graph> ExpandNodes(const Graph& graph, int opset);

// The graph with every node that import writes as others (OpSpec::expands_at_import) written so.
// Names stay. Pure and thread-safe.
// Errors: InvalidArgument naming a node whose expansion has a tensor beyond the limits.
absl::StatusOr<Graph> ExpandAtImport(const Graph& graph);

}  // namespace plait
