#pragma once

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "loading/choose_plan.h"

namespace plait {

// A plan that was made when it was loaded.
struct DefaultPlan {
  LoadedPlan loaded;
  std::string explanation;  // of how its kernels were chosen: a clause that begins with "; "
};

// What runs where no plan of a file does, made now and loaded. A plan in the file that is for the
// same inputs and outputs says the most: where it is for these instructions and other threads, its
// kernels run with as many as there are (PlanWithThreads); where it is not, kernels are chosen by
// predicted times (optimizer/search/predicted_plan.h) for its graph, since that was rewritten and
// found equal. Without such a plan they are chosen for the model's own graph. Where a kernel
// refuses to load, the plan has one for each node instead. Nothing is measured. `bound` is the
// model's own graph. Errors: InvalidArgument naming a node that plait does not understand; those of
// PredictedPlan and Executor::Load.
absl::StatusOr<DefaultPlan> LoadDefaultPlan(const Model& model, const Bound& bound,
                                            absl::Span<const FilePlan> plans, Executor& executor);

// Whether a graph has nodes that plait does not understand.
bool HasOpaqueNodes(const Graph& graph);

// A model without a plan needs a kernel for every node that something reads.
// Errors: InvalidArgument naming the first node that plait does not understand, and how many more
// there are.
absl::Status CheckNoOpaqueNode(const Bound& bound);

}  // namespace plait
