#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "gpu_worker/backends/cuda/run/step_problem.h"
#include "optimizer/plan/plan.h"
#include "optimizer/schedule/partial_order.h"

namespace plait::cuda {

// More would make tables of pairs of steps of some hundred megabytes; the largest models have some
// thousand.
inline constexpr int kStepsMax = 20'000;

// What the plan's steps promise about each other: by streams, waits and full width, as CheckPlan
// reads it, and by steps that run on the host, which run alone.
// Errors: ResourceExhausted for more than kStepsMax steps.
absl::StatusOr<PartialOrder> OrderOfPlan(const Plan& plan, const std::vector<StepProblem>& work);

// Whether all steps before it end before it begins, and all behind it begin when it has ended.
bool IsAlone(const Plan& plan, const std::vector<StepProblem>& work, size_t step);

// Where what lives during a run only lies in one arena: values between steps and the workspaces of
// kernels, which take each other's bytes where the order allows it. The plan's own offsets are not
// taken over: a device wants other alignments, and workspaces are no part of a plan.
struct ArenaPlan {
  std::vector<int64_t> value_offsets_bytes;      // by value; -1: not here (see the caller's)
  std::vector<int64_t> workspace_offsets_bytes;  // by step; -1: it has none
  int64_t bytes = 0;
};

// Places are multiples of kDeviceAlignmentBytes. Not here are values whose bytes the caller sees,
// graph inputs and outputs, and all of OneKernelPlan's; a value that shares another one's bytes
// lies where that one does. `workspace_bytes` is by step.
// REQUIRES: `order` is OrderOfPlan's.
ArenaPlan PlanArena(const plait::Graph& graph, const Plan& plan, const PartialOrder& order,
                    const std::vector<int64_t>& workspace_bytes);

}  // namespace plait::cuda
