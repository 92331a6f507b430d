#pragma once

#include "absl/status/statusor.h"
#include "optimizer/ir/graph.h"

namespace plait {

// The graph with what it computes in floats of 16 bits (float16, bfloat16) computed in float32,
// for which there are kernels: the same operators between casts, that are as few as can be. Nothing
// is rounded to 16 bits on the way, but where a Cast of the graph says so; inputs, outputs and what
// opaque nodes read and write keep their types, so that results differ from those of an evaluation
// that rounds each operator by no more than those roundings. What only moves numbers that were in
// 16 bits from the beginning leaves them there. Inputs, outputs and their names stay; a graph
// without such floats comes back as it is, and so does a result of this function. Pure and
// thread-safe. Errors: those of GraphBuilder.
absl::StatusOr<Graph> Float32Form(const Graph& graph);

}  // namespace plait
