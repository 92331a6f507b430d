#pragma once

#include <cstdint>
#include <vector>

#include "gpu_worker/backends/cuda/problem/host_operands.h"
#include "gpu_worker/backends/cuda/problem/problem.h"
#include "gpu_worker/backends/cuda/problem/problem_shape.h"

namespace plait::cuda {

// One element of an output as double arithmetic has it; `offset` is its place in memory.
struct ReferenceElement {
  int output = 0;
  int64_t offset = 0;
  double value = 0;
};

// Elements of the problem's outputs in float64, from the definition in problem.h: all of them if
// that needs at most `operations_max` multiplications, else the first, the last and seeded random
// ones, at least 64. Uses every core.
// Each element is computed from the definition alone, without tiles or reordering: slow, plain, and
// no relative of any kernel. Samples make the cost of large problems a choice of the caller.
// REQUIRES: ShapeOf() accepted the problem, and a gather's indices are in range.
// Errors: none.
std::vector<ReferenceElement> ComputeReference(const Problem& problem, const ProblemShape& shape,
                                               MemoryLayout layout, const HostOperands& operands,
                                               int64_t operations_max, uint64_t seed);

// How a computed output differs from the reference.
// Passing means relative_l2 <= RelativeL2Max() and not_numbers == 0.
struct Difference {
  double relative_l2 = 0;   // over the reference's elements
  int64_t not_numbers = 0;  // NaN anywhere in the outputs
};

// `outputs` are in memory order. What is beyond the precision's storage has to be infinite or the
// largest number there.
// The L2 norm of the errors over that of the reference: one wrong element among small ones shows,
// and a rounding error in an element near zero does not.
// Errors: none.
Difference Compare(const std::vector<ReferenceElement>& reference,
                   const std::vector<std::vector<float>>& outputs,
                   Precision precision = Precision::kStrict);

// The largest relative L2 that passes: 1e-5 strict, 1e-3 tf32, 1e-2 fp16, 3e-2 bf16.
// Each leaves room for inputs and outputs that are rounded to 24, 11, 11 and 8 bits, and for sums
// in another order.
double RelativeL2Max(Precision precision);

}  // namespace plait::cuda
