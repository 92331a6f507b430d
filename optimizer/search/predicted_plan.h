#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "optimizer/kernels/kernel_catalog.h"
#include "optimizer/search/plan_graph.h"

namespace plait {

// A plan for a graph on a device, made without running anything: kernels are fused and chosen by
// the times that PredictedProfiler gives them, and the plan is marked so. Equal arguments give
// equal plans. It has kernels that need admission only where `admitted` says that they have the
// accuracy of fp32. Never for a result that claims to be fast: only what was measured is. Takes
// about 0.1 ms for each kernel that the device offers for the graph. Errors: FailedPrecondition
// naming a node that no kernel can run.
absl::StatusOr<PlannedGraph> PredictedPlan(const Graph& graph, const DeviceDescription& device,
                                           const KernelCatalog& catalog,
                                           const std::string& engine_version,
                                           const Admissions& admitted = {});

// The kernels of a measured plan that needed admission, at the layers where it has them: how they
// add up does not depend on instructions or threads. REQUIRES: the plan passes CheckPlan.
Admissions AdmittedBy(const Plan& plan, const Graph& graph, const KernelCatalog& catalog);

// A predicted plan with one kernel for each node, as the graph has them: for where outputs are
// compared, and nothing else.
absl::StatusOr<PlannedGraph> PredictedBaseline(const Graph& graph, const DeviceDescription& device,
                                               const KernelCatalog& catalog,
                                               const std::string& engine_version);

}  // namespace plait
