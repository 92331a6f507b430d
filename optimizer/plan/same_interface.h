#pragma once

#include "optimizer/ir/graph.h"

// Whether two graphs are for the same callers. Pure and thread-safe.
namespace plait {

// Whether an output of a graph has the output's own name. One that a rewrite made of two outputs,
// or that passes on an input or a constant, may have the name of the other.
bool IsNamedAsOutput(const Graph& graph, TensorId output);

// Whether inputs and outputs have the same types and names, as far as they are named as such, in
// the same order.
bool HaveSameInterface(const Graph& a, const Graph& b);

}  // namespace plait
