#pragma once

#include "absl/status/statusor.h"
#include "optimizer/plan/plan.h"

namespace plait {

// A plan with one step for Executor::LoadKernel: every input and output is the caller's, in the
// kernel's format (which CheckPlan does not allow, because a whole plan's are row-major).
// Errors: InvalidArgument when the kernel's nodes are not the graph's or a format does not fit.
absl::StatusOr<Plan> OneKernelPlan(const Graph& graph, const Kernel& kernel);

}  // namespace plait
