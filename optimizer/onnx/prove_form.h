#pragma once

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "optimizer/ir/graph.h"

// That a node and what a file says in its place compute the same, by evaluating both: what wrote
// the file has no part in it but the form itself.
namespace plait {

// The form that a file has of a node alone (node_form.h).
using FormOf = absl::FunctionRef<absl::StatusOr<Graph>(const Graph& alone)>;

// Evaluates both graphs by reference on the same random inputs, of several sizes from zero to about
// a thousand, in doubles that no step rounds. Integers, booleans and places of NaN must be equal.
// Floats may differ by what rounding a few constants to the dtype explains: four times its largest
// relative error of the output's largest element, and what inputs larger by as much would change.
// Errors: Internal when they differ in inputs, outputs or values, or cannot be evaluated.
absl::Status CheckSameFunction(const Graph& graph, const Graph& form);

// Proves the form of a node alone, which `form_of` gave. A node that takes long to evaluate is
// proven with smaller extents, equal ones staying equal, of which `form_of` makes the same
// operators with the same attributes.
// Takes less than 0.1 seconds.
// Errors: those of CheckSameFunction.
absl::Status ProveForm(const Graph& alone, const Graph& form, FormOf form_of);

}  // namespace plait
