#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "optimizer/ir/graph.h"

namespace plait {

// A convex set of a graph's nodes, with the tensors that cross its boundary.
// Refers to its graph by id, and means nothing without it.
struct Region {
  std::vector<NodeId> nodes;      // ascending
  std::vector<TensorId> inputs;   // read from outside, constants excepted, by first use
  std::vector<TensorId> outputs;  // produced inside and read outside, or graph outputs; node order
};

// Finds what crosses the boundary. Constants never do: they are copied into the region.
// REQUIRES: nodes ascending and convex (no path leaves the set and comes back).
Region MakeRegion(const Graph& graph, std::vector<NodeId> nodes);

// The region as a graph of its own; its inputs, outputs, constants and names are the graph's. Ids
// are its own: node i of the result is the region's i-th node. Constants are shared with the graph
// and not copied.
Graph ExtractRegion(const Graph& graph, const Region& region);

// Whether each output of a stitched graph has the name that it has in the graph.
enum class OutputNames { kOfGraph, kMayJoin };

// The graph with every region replaced by the graph beside it, which has the region's inputs and
// outputs. `regions` together hold every node of `graph` once, and only earlier ones feed later
// ones. Graph inputs and outputs keep their names; those of other tensors come from the
// replacements.
// Errors: InvalidArgument when a replacement's boundary differs from its region's, or, unless they
// may join, when two graph outputs, or an input and an output, became one tensor and so cannot both
// keep their names. One that is an input keeps that one's name, one of two outputs that of the
// last.
absl::StatusOr<Graph> Stitch(const Graph& graph, absl::Span<const Region> regions,
                             absl::Span<const Graph> replacements,
                             OutputNames names = OutputNames::kOfGraph);

}  // namespace plait
