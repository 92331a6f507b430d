#pragma once

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "optimizer/kernels/kernel_catalog.h"
#include "optimizer/plan/plan.h"

namespace plait {

// Checks that a plan was made for this graph and this device.
// Graphs and devices are compared by their fingerprints, as the plan has them; fewer threads than
// the device has are allowed.
// Errors: InvalidArgument naming what differs; the caller then falls back to another plan.
absl::Status CheckBinding(const Plan& plan, const Graph& graph, const DeviceDescription& device);

// Checks that inputs are as many and of the types that the graph wants.
// Errors: InvalidArgument naming the input.
absl::Status CheckInputs(const Graph& graph, absl::Span<const Tensor> inputs);

}  // namespace plait
