#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "gpu_worker/backends/cpu/run/kernel.h"
#include "optimizer/plan/plan.h"

namespace plait {

// A launch of a loaded plan.
struct LoadedStep {
  std::unique_ptr<CpuKernel> kernel;
  int stream = 0;
  std::vector<int> waits;
  // The run in which the step last finished; runs are counted from 1.
  std::unique_ptr<std::atomic<int64_t>> finished;
};

// Consecutive steps of a plan that run in one way: in order on the calling thread, each as wide as
// `width`; or, with several lanes, one lane per OpenMP thread, where a step that needs one of
// another lane spins until it is finished. A hand-over by futex would cost 20 us, spinning costs
// 0.2.
struct Segment {
  int width = 1;
  std::vector<std::vector<int>> lanes;
  std::vector<absl::Status> statuses;  // by lane: of the last run
};

// Divides a plan's steps. A step as wide as the plan runs alone; runs of narrow steps are divided
// into a lane per stream (streams beyond plan.threads share lanes, in plan order, so that no lane
// can wait for itself).
std::vector<Segment> MakeSegments(const Plan& plan);

// Runs all segments once. `run` is greater than in any run before.
// Errors: those of the kernels; the first in plan order.
absl::Status RunSegments(std::vector<Segment>* segments, std::vector<LoadedStep>* steps,
                         int64_t run);

// Starts a parallel region, so that the threads of the team are awake and spin for the next.
void WakeTeam(int threads);

}  // namespace plait
