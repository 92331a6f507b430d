#pragma once

#include <cstdint>

#include "absl/status/statusor.h"
#include "gpu_worker/backends/cuda/offers/kernel_problem.h"
#include "optimizer/ir/graph.h"
#include "optimizer/kernels/kernel.h"

namespace plait::cuda {

// A kernel's problem, computed by the definition of problems, beside its nodes, computed by the
// definition of operators, on the same random inputs and constants.
struct ProblemCheck {
  KernelProblem problem;
  double relative_l2 = 0;  // of the differences, to the largest of any output
};

// The kernel stands in a graph of its own. Kernels of more than `flops_max` are not computed.
// Errors: NotFound where it has no problem; those of evaluation; Internal where operands or outputs
// have other sizes than the problem says, or numbers that are none at other places.
absl::StatusOr<ProblemCheck> CheckKernelProblem(const Graph& graph, const Kernel& kernel,
                                                uint64_t seed, int64_t flops_max);

// The same of a kernel in any graph, whose parameters are drawn anew.
absl::StatusOr<ProblemCheck> CheckKernelProblemIn(const Graph& graph, const Kernel& kernel,
                                                  uint64_t seed, int64_t flops_max);

}  // namespace plait::cuda
