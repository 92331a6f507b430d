#pragma once

#include <vector>

#include "gpu_worker/backends/cuda/generated/kernel.h"

namespace plait::cuda {

// The kernels for a problem over rows; a global average pool over NCHW is one too.
std::vector<GeneratedKernel> GenerateRows(const RowsProblem& problem, Precision precision);

}  // namespace plait::cuda
