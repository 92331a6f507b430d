#pragma once

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "optimizer/kernels/kernel_catalog.h"
#include "optimizer/plan/plan.h"

namespace plait {

// Checks that every type of a graph is what the operators make of it: each node's outputs have the
// types that InferTypes gives, inline constants have their tensor's type, inputs and outputs hold
// numbers. A graph's text may declare any type, and plans and kernels compute sizes and addresses
// from types and attributes; only where these agree do they stay within their buffers.
// Errors: InvalidArgument naming the node or tensor.
absl::Status CheckTypes(const Graph& graph);

// Checks that a plan was made for this graph and this device.
// Graphs and devices are compared by their fingerprints, as the plan has them; fewer threads than
// the device has are allowed.
// Errors: InvalidArgument naming what differs; the caller then falls back to another plan.
absl::Status CheckBinding(const Plan& plan, const Graph& graph, const DeviceDescription& device);

// Checks that every value of a plan lies in elements of its own type: of a backend whose kernels
// know no others. What they write would not fit into fewer bits.
// REQUIRES: the plan passed CheckPlan or is OneKernelPlan's.
// Errors: InvalidArgument naming the tensor.
absl::Status CheckStoredWhole(const Plan& plan, const Graph& graph);

// Checks that inputs are as many and of the types that the graph wants.
// Errors: InvalidArgument naming the input.
absl::Status CheckInputs(const Graph& graph, absl::Span<const Tensor> inputs);

}  // namespace plait
