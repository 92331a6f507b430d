#pragma once

#include <vector>

#include "gpu_worker/backends/cuda/generated/kernel.h"

namespace plait::cuda {

// The kernels of attention on tensor cores, which round what they multiply to TF32; the best guess
// first. None for other problems. REQUIRES: the form's precision is kTf32.
std::vector<GeneratedKernel> AttentionTf32Kernels(const Problem& problem, const KernelForm& form);

}  // namespace plait::cuda
