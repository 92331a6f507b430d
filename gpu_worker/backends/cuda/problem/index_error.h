#pragma once

#include <cstdint>

#include "gpu_worker/backends/cuda/driver/result.h"
#include "gpu_worker/backends/cuda/problem/problem.h"

namespace plait::cuda {

// What an error word says: 0 that all indices were in range, n that the index at place n - 1 was
// not. Of several wrong indices any may be named.
inline int64_t WrongIndexPlace(int64_t word) { return word - 1; }

// Whether the index is one of the gathered axis; one below zero counts from the end, as in ONNX.
// REQUIRES: ShapeOf() accepts the problem, which is a gather.
bool IsIndex(const MovementProblem& problem, int64_t index);

// The row that the index means. REQUIRES: IsIndex().
int64_t RowOf(const MovementProblem& problem, int64_t index);

// "gather: index 19 at place 3 is not in -19..18", as kInvalid: it is the input's fault.
Error IndexError(const MovementProblem& problem, int64_t index, int64_t place);

}  // namespace plait::cuda
