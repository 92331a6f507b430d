#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "optimizer/kernels/kernel_catalog.h"
#include "optimizer/search/plan_graph.h"

namespace plait {

// A plan for a graph on a device, made without running anything: kernels are fused and chosen by
// the times that PredictedProfiler gives them, and the plan is marked so. Equal arguments give
// equal plans. It has no kernel that needs admission, so that its accuracy is that of fp32. Never
// for a result that claims to be fast: only what was measured is. Takes about 0.1 ms for each
// kernel that the device offers for the graph. Errors: FailedPrecondition naming a node that no
// kernel can run.
absl::StatusOr<PlannedGraph> PredictedPlan(const Graph& graph, const DeviceDescription& device,
                                           const KernelCatalog& catalog,
                                           const std::string& engine_version);

// The same with one kernel for each node, as the graph has them: for where outputs are compared,
// and nothing else.
absl::StatusOr<PlannedGraph> PredictedBaseline(const Graph& graph, const DeviceDescription& device,
                                               const KernelCatalog& catalog,
                                               const std::string& engine_version);

}  // namespace plait
