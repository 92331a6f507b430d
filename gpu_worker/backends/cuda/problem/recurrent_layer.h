#pragma once

#include <vector>

#include "gpu_worker/backends/cuda/problem/host_operands.h"
#include "gpu_worker/backends/cuda/problem/problem.h"

namespace plait::cuda {

// A step of a layer is a launch or two, and a plan's graph has a node for each: beyond this many
// steps the layer has no problem.
inline constexpr int64_t kRecurrentStepsMax = 4096;

// The outputs of a layer in float64, all elements in memory order. Pure and thread-safe.
// REQUIRES: ShapeOf() accepts the problem, and the operands have its sizes.
std::vector<std::vector<double>> RunRecurrentLayer(const RecurrentLayerProblem& problem,
                                                   const HostOperands& operands);

}  // namespace plait::cuda
