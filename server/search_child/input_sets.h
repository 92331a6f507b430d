#pragma once

#include "absl/status/status.h"
#include "optimizer/ir/graph.h"
#include "plait/v1/optimization.pb.h"

// The inputs that a job gives, as far as a search needs them: it sees names and sizes, and never
// the values, which a worker reads. Pure and thread-safe.
namespace plait {

using InputSets = google::protobuf::RepeatedPtrField<v1::InputSet>;

// Whether each set has a value for each input of the model, and nothing else.
// Errors: InvalidArgument (INVALID_REQUEST) naming the set, the input, its type and what was given.
// REQUIRES: the graph is the model's as bound.
absl::Status CheckInputSets(const InputSets& sets, const Graph& graph);

// Of each set the values of the graph's own inputs; no sets when it has an input that is none of
// the model's, as the parts of a model have that lie between opaque nodes.
InputSets InputSetsFor(const Graph& graph, const InputSets& sets);

}  // namespace plait
