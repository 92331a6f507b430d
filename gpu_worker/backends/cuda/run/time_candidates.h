#pragma once

#include <memory>
#include <vector>

#include "gpu_worker/backends/cuda/problem/candidate.h"
#include "gpu_worker/backends/cuda/run/candidate_trial.h"
#include "gpu_worker/backends/cuda/run/step_problem.h"

namespace plait::cuda {

// Two of some candidates, by index, which may be the same.
struct CandidateChoice {
  size_t fastest = 0;
  // Of those that take at most 1.3 times as long, the one that takes the smallest share of the
  // device, so that others may run beside it (forms.h).
  size_t narrowest = 0;
};

// Which of the prepared candidates takes the least time in a CUDA graph, behind its like: few
// launches of each, then spans of 2 ms of the best in turn, of which medians are compared; and
// which leaves the most room (ComputeShare). One whose launch is refused, or whose results are
// wrong in the places that are compared (TrialBench), launched by itself or in a graph that is
// timed, is left out, also where it is the only one.
// Errors: kUnsupported where none is left, with each one's reason; kDevice.
Result<CandidateChoice> ChooseCandidates(const std::vector<std::unique_ptr<Candidate>>& candidates,
                                         const StepProblem& step, const TrialData& trial,
                                         const TimingDevice& device);

}  // namespace plait::cuda
