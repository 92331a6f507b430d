#pragma once

#include "absl/status/statusor.h"
#include "optimizer/ir/graph.h"
#include "optimizer/kernels/device.h"
#include "optimizer/plan/plan.h"

namespace plait {

// A plan for a graph on a device, made without running anything: kernels are fused and chosen by
// the times that PredictedProfiler gives them. Equal graphs and devices give equal plans. It has no
// kernel that needs admission, so that its accuracy is that of fp32.
// Never for a result that claims to be fast: only what was measured is.
// Takes about 0.1 ms for each kernel that the device offers for the graph.
// Errors: FailedPrecondition naming a node that no kernel can run; NotFound for a device without a
// backend in this build.
absl::StatusOr<Plan> PredictedPlan(const Graph& graph, const DeviceDescription& device);

}  // namespace plait
