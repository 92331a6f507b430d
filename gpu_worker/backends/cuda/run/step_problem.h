#pragma once

#include <cstdint>
#include <string>
#include <vector>

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
  OperandPlaces places;  // of operands that begin where their values do, at an offset
  // Of the problem's outputs, in elements from where the step's one output begins, which they all
  // lie in; empty: they are the step's outputs.
  std::vector<int64_t> output_offsets;
  std::string implementation;  // a candidate's name, which alone may run it; empty: any
  bool narrow = false;         // whether it is to leave room for others: see forms.h
};

// The only way from a step to the device, by ProblemOfKernel. What it returns has operands that lie
// within their tensors and are of the types that kernels read. Of a Concat only those pieces are
// copied that do not lie in the result already. Pure.
// REQUIRES: the plan passed CheckPlan or is OneKernelPlan's.
// Errors: InvalidArgument for a kernel that the backend has not; Unimplemented for a view of a
// part, or a part that the host reads or writes.
absl::StatusOr<StepProblem> StepProblemOf(const plait::Graph& graph, const Plan& plan,
                                          const Step& step);

// Whether it reads rows by indices, which are known only when it runs.
bool IsGather(const StepProblem& step);

// The value of the step's inputs that holds the tensor, or -1.
int InputValueOf(const Plan& plan, const Step& step, TensorId tensor);

// The value whose bytes it shares, which may be itself.
int RootOf(const Plan& plan, int value);

// Where a value's elements lie from where those of RootOf() begin: that of an image which is a part
// of another one. Others are dense and begin where their roots do.
PixelPitch PitchOf(const plait::Graph& graph, const Plan& plan, int value);
int64_t OffsetOf(const Plan& plan, int value);

}  // namespace plait::cuda
