#pragma once

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "loading/choose_plan.h"

namespace plait {

// What runs where no plan of a file does: a plan made now by predicted times
// (optimizer/search/predicted_plan.h) and loaded. It is made for the graph of a plan in the file
// that is for the same inputs and outputs, if there is one, since that was rewritten and found
// equal, and for the model's own otherwise. Where a kernel refuses to load, the plan has one for
// each node instead. Nothing is measured. `bound` is the model's own graph.
// Errors: InvalidArgument naming a node that plait does not understand; those of PredictedPlan and
// Executor::Load.
absl::StatusOr<LoadedPlan> LoadDefaultPlan(const Model& model, const Bound& bound,
                                           absl::Span<const FilePlan> plans, Executor& executor);

// Whether a graph has nodes that plait does not understand.
bool HasOpaqueNodes(const Graph& graph);

// A model without a plan needs a kernel for every node that something reads.
// Errors: InvalidArgument naming the first node that plait does not understand, and how many more
// there are.
absl::Status CheckNoOpaqueNode(const Bound& bound);

}  // namespace plait
