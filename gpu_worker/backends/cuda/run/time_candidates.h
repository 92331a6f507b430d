#pragma once

#include <memory>
#include <vector>

#include "gpu_worker/backends/cuda/driver/clock_watch.h"
#include "gpu_worker/backends/cuda/driver/runtime.h"
#include "gpu_worker/backends/cuda/driver/staging.h"
#include "gpu_worker/backends/cuda/problem/candidate.h"
#include "gpu_worker/backends/cuda/problem/host_operands.h"
#include "gpu_worker/backends/cuda/problem/reference_problem.h"
#include "gpu_worker/backends/cuda/run/step_problem.h"

namespace plait::cuda {

// With what of a device candidates are timed. Nothing is owned.
struct TimingDevice {
  Runtime* runtime;
  Stream stream;
  Staging* staging;
  int multiprocessors;
  ClockWatch* clock = nullptr;  // null: nobody looks at it
};

// What a problem's candidates are tried on: seeded operands, and what they should give in some
// places.
struct TrialData {
  HostOperands operands;
  std::vector<ReferenceElement> reference;
};

// Pure; on as many threads as pay. REQUIRES: the step is a launch.
TrialData MakeTrialData(const StepProblem& step);

// Two of some candidates, by index, which may be the same.
struct CandidateChoice {
  size_t fastest = 0;
  // Of those that take at most 1.3 times as long, the one that takes the smallest share of the
  // device, so that others may run beside it (forms.h).
  size_t narrowest = 0;
};

// Which of the prepared candidates takes the least time in a CUDA graph, behind its like: few
// launches of each, then more of the best in turn, of which medians are compared; and which leaves
// the most room (ComputeShare). One whose launch is refused, or whose results are wrong in the
// places that are compared (Passes), is left out.
// Errors: kUnsupported where none is left, with each one's reason; kDevice.
Result<CandidateChoice> ChooseCandidates(const std::vector<std::unique_ptr<Candidate>>& candidates,
                                         const StepProblem& step, const TrialData& trial,
                                         const TimingDevice& device);

}  // namespace plait::cuda
