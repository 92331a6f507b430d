#pragma once

#include <cstdint>
#include <stop_token>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "gpu_worker/executor/executor.h"
#include "gpu_worker/executor/measure_plans.h"
#include "optimizer/cost/layer_error.h"

namespace plait {

// On what errors are measured.
struct ErrorOptions {
  uint64_t seed = 1;  // of the random inputs, and of which elements are looked at
  // Further inputs of the plan, each with a tensor for each input of the graph, in its order.
  std::vector<std::vector<Tensor>> given_inputs;
  int64_t samples_max = 4096;       // elements of each result
  int64_t hard_samples_max = 1024;  // the same, of each hard case
  std::stop_token stop;             // asked between two steps
};

// An error that is larger than this, or no number, counts as this.
constexpr double kLayerErrorMax = 1e30;

// How far kernels of a plan are from the exact results of their layers: the first node of each of
// `steps` is loaded alone, with its constants and as the plan's kernel would run it, and run on
// what the step reads when the plan runs on its first random input and on the given ones; then on
// inputs and weights that are hard. What follows the node in the kernel is left out. The results
// are in the order of `steps`.
//
// A serial sum that is no number has the error 0: it excuses nothing.
//
// The plan is not in memory while kernels are loaded. What its steps read is; where that is much,
// the plan is loaded and run again for the next steps.
//
// Errors: those of Executor::Load and Executable::RunObserved; InvalidArgument for steps that are
// not ascending, that the plan has not or whose first node is no Conv, MatMul or Gemm of float32
// with constant weights; those of loading and running a step's kernel. Each names the step.
// Cancelled when a stop was requested.
absl::StatusOr<std::vector<LayerError>> MeasureErrors(Executor& executor,
                                                      const CandidatePlan& candidate,
                                                      absl::Span<const int> steps,
                                                      const WeightSource& weights,
                                                      const ErrorOptions& options);

}  // namespace plait
