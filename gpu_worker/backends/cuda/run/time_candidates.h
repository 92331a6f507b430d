#pragma once

#include <memory>
#include <vector>

#include "gpu_worker/backends/cuda/driver/runtime.h"
#include "gpu_worker/backends/cuda/driver/staging.h"
#include "gpu_worker/backends/cuda/problem/candidate.h"
#include "gpu_worker/backends/cuda/run/step_problem.h"

namespace plait::cuda {

// With what of a device candidates are timed. Nothing is owned.
struct TimingDevice {
  Runtime* runtime;
  Stream stream;
  Staging* staging;
};

// Which of the prepared candidates takes the least time: launches all of them in turn, on seeded
// operands, and compares medians. One whose launch is refused, or whose results are wrong in the
// places that are compared (Passes), is left out.
// Errors: kUnsupported where none is left, with each one's reason; kDevice.
Result<size_t> FastestOf(const std::vector<std::unique_ptr<Candidate>>& candidates,
                         const StepProblem& step, const TimingDevice& device);

}  // namespace plait::cuda
