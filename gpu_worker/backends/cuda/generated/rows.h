#pragma once

#include <vector>

#include "gpu_worker/backends/cuda/generated/kernel.h"

namespace plait::cuda {

// The kernels for a problem over rows; a global average pool over NCHW is one too.
// None for rows that are not dense (strided_rows.cc has these), and none for more than 65536
// columns: what 1024 threads, the largest block, hold at 64 elements each. Fewest threads per row
// first. REQUIRES: ShapeOf() accepts the problem.
std::vector<GeneratedKernel> GenerateRows(const RowsProblem& problem, const KernelForm& form);

}  // namespace plait::cuda
