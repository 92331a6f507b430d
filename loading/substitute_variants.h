#pragma once

#include "absl/status/statusor.h"
#include "optimizer/kernels/kernel_catalog.h"
#include "optimizer/plan/plan.h"

namespace plait {

// Gives kernels of a plan whose variants the catalog does not offer others of their families: for
// the same nodes, formats and width, so that nothing else of the plan changes; the one that is
// offered first. Returns how many. A kernel of a family whose error has to be measured
// (KernelCatalog::NeedsAdmission) has no substitute, because nobody has measured that one's.
// Graph and plan may be a stranger's. Pure. Errors: InvalidArgument where they fail CheckTypes or
// CheckPlan, or naming the step that has no substitute; the plan is in any state then.
absl::StatusOr<int> SubstituteVariants(const Graph& graph, const KernelCatalog& catalog,
                                       Plan* plan);

}  // namespace plait
