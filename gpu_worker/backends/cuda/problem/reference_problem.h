#pragma once

#include <cstdint>
#include <vector>

#include "gpu_worker/backends/cuda/problem/difference.h"
#include "gpu_worker/backends/cuda/problem/host_operands.h"
#include "gpu_worker/backends/cuda/problem/problem.h"
#include "gpu_worker/backends/cuda/problem/problem_shape.h"

namespace plait::cuda {

// Elements of the problem's outputs in float64, from the definition in problem.h: all of them if
// that needs at most `operations_max` multiplications, else a sample (SampleOffsets) with all
// corners and edges, and at least 64 others. Uses every core. Each element is computed from the
// definition alone, without tiles or reordering: slow, plain, and no relative of any kernel.
// Samples make the cost of large problems a choice of the caller. REQUIRES: ShapeOf() accepted the
// problem, and a gather's indices are in range. Errors: none.
std::vector<ReferenceElement> ComputeReference(const Problem& problem, const ProblemShape& shape,
                                               MemoryLayout layout, const HostOperands& operands,
                                               int64_t operations_max, uint64_t seed);

}  // namespace plait::cuda
