#pragma once

#include "absl/status/status.h"
#include "gpu_worker/simulated_gpu/cudnn/operation_graph.h"

namespace plait::simulated_gpu {

// Whether the sizes of an operation's tensors fit together.
// Errors: kInvalidArgument; kUnimplemented for what there is no stand-in for.
absl::Status CheckOperation(const OperationGraph& graph, const GraphOperation& operation);

// How many operands a pointwise mode has; 0 if there is no stand-in for it.
int PointwiseOperands(cudnnPointwiseMode_t mode);

}  // namespace plait::simulated_gpu
