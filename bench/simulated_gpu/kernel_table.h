#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "gpu_worker/backends/cuda/problem/problem.h"

namespace plait {

// By which optimizer/cost/generated_kernels.def was made; others may give other registers.
inline constexpr char kTableNvrtcVersion[] = "13.0";

struct UsualProblem {
  cuda::Problem problem;
  cuda::MemoryLayout layout = cuda::MemoryLayout::kNchw;
};

// For each family that plait generates problems as usual models have them, whose kernels are of all
// variants that these bring. Strict fp32 is meant.
std::vector<UsualProblem> UsualProblems();

// The text of optimizer/cost/generated_kernels.def: compiles the kernels of UsualProblems() for
// each architecture of a described device, on all processors. A variant's line has the most that
// ptxas gives one of its kernels. Errors: Unavailable without NVRTC; Internal with the words of
// the compiler.
absl::StatusOr<std::string> GeneratedKernelTable();

}  // namespace plait
