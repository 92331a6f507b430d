#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "gpu_worker/backends/cuda/offers/kernel_problem.h"
#include "gpu_worker/backends/cuda/problem/candidate.h"
#include "gpu_worker/backends/cuda/problem/problem_shape.h"
#include "optimizer/plan/plan.h"

namespace plait::cuda {

// What a step of a plan is to the device.
struct StepProblem {
  enum class Kind {
    kNothing,  // a view: its result is its input's bytes, where these are
    kCopy,     // a view whose result lies elsewhere
    kLaunch,   // a problem
    kHost,     // one node, which another processor computes
  };
  Kind kind = Kind::kNothing;
  // Of kLaunch:
  KernelProblem problem;
  ProblemShape shape;
  OperandAlignment alignment;  // of operands that begin where their values do, at an offset
  std::string implementation;  // a candidate's name, which alone may run it; empty: any
  bool narrow = false;         // whether it is to leave room for others: see forms.h
};

// The only way from a step to the device, by ProblemOfKernel. What it returns has operands that lie
// within their tensors and are of the types that kernels read. Pure.
// REQUIRES: the plan passed CheckPlan or is OneKernelPlan's.
// Errors: InvalidArgument for a kernel that the backend has not; Unimplemented for values that are
// parts of others.
absl::StatusOr<StepProblem> StepProblemOf(const plait::Graph& graph, const Plan& plan,
                                          const Step& step);

// Whether it reads rows by indices, which are known only when it runs.
bool IsGather(const StepProblem& step);

// The value of the step's inputs that holds the tensor, or -1.
int InputValueOf(const Plan& plan, const Step& step, TensorId tensor);

// The value whose bytes it shares, which may be itself.
int RootOf(const Plan& plan, int value);

}  // namespace plait::cuda
