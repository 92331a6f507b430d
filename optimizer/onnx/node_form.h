#pragma once

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "optimizer/ir/graph.h"

// One node by itself, and what a file of an older opset makes of it. A file may say the same in
// another way: Gelu as Mul, Erf and Add, or axis -1 as axis 2. Pure and thread-safe.
namespace plait {

// A graph of that node alone. Its inputs are what the node reads, one for each use, of the types
// that `resized` makes of them; inline constants, which decide what the node is, stay. Its outputs
// are those that the node has.
// Errors: those of InferTypes, for the resized types.
absl::StatusOr<Graph> NodeAlone(const Graph& graph, NodeId id,
                                absl::FunctionRef<TensorType(const TensorType&)> resized);
absl::StatusOr<Graph> NodeAlone(const Graph& graph, NodeId id);

// How a node alone comes back from a file of `opset` that the exporter wrote: a graph with the same
// inputs and outputs, in the newest opset's semantics.
// Errors: those of ExpandNodes and RaiseNode.
absl::StatusOr<Graph> WrittenForm(const Graph& alone, int opset);

}  // namespace plait
