#pragma once

#include "gpu_worker/backends/cuda/problem/problem.h"
#include "proto/wire/json.h"

namespace plait {

// The fields of a problem of the cuda backend, as a line of a kernel list has them: those of
// gpu_worker/backends/cuda/problem/problem.h by their names, behind "problem". Pure and
// thread-safe.
wire::Json ProblemJson(const cuda::Problem& problem);

}  // namespace plait
