#pragma once

#include <cstdint>
#include <vector>

#include "gpu_worker/backends/cuda/problem/problem.h"

namespace plait::cuda {

// One element of an output as double arithmetic has it; `offset` is its place in memory.
struct ReferenceElement {
  int output = 0;
  int64_t offset = 0;
  double value = 0;
};

// How computed outputs differ from the reference: the most of any output.
struct Difference {
  double relative_l2 = 0;  // the L2 norm of an output's errors over that of its reference
  double largest = 0;  // error, over the output's root mean square, or the element if it is larger
  int64_t not_numbers = 0;  // NaN anywhere in the outputs
};

// `outputs` are in memory order. What is beyond the precision's storage has to be infinite or the
// largest number there.
// The L2 norm finds what is wrong everywhere, the largest error what is wrong in few places: a
// column at the border, one channel's bias. A rounding error in an element near zero shows in
// neither.
// Errors: none.
Difference Compare(const std::vector<ReferenceElement>& reference,
                   const std::vector<std::vector<float>>& outputs,
                   Precision precision = Precision::kStrict);

// The largest relative L2 that passes: 1e-5 strict, 1e-3 tf32, 1e-2 fp16, 3e-2 bf16.
// Each leaves room for inputs and outputs that are rounded to 24, 11, 11 and 8 bits, and for sums
// in another order. Two products in one kernel, as in an attention, round in between: twice as much
// in tf32.
double RelativeL2Max(Precision precision);
double RelativeL2Max(const Problem& problem, Precision precision);

// The largest error of one element that passes, in the units of Difference::largest.
double LargestErrorMax(const Problem& problem, Precision precision);

// Whether all three are within their limits, and no output is NaN.
bool Passes(const Difference& difference, const Problem& problem, Precision precision);

}  // namespace plait::cuda
